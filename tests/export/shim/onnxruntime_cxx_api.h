// The part of ONNX Runtime's C++ interface that the how-to page uses, with the field itself, as C, in place of a model.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <vector>
#include "photo.c"

enum OrtAllocatorType { OrtDeviceAllocator, OrtArenaAllocator };
enum OrtMemType { OrtMemTypeCPU = -1, OrtMemTypeDefault = 0 };
struct OrtMemoryInfo {};

namespace Ort {
struct Env {};
struct SessionOptions {};
struct RunOptions {};
struct MemoryInfo {
    OrtMemoryInfo info;
    static MemoryInfo CreateCpu(OrtAllocatorType, OrtMemType) { return {}; }
    operator const OrtMemoryInfo *() const { return &info; }
};

struct Value {
    std::vector<float> held;
    template <typename T>
    static Value CreateTensor(const OrtMemoryInfo *, T *data, size_t count, const int64_t *shape, size_t rank) {
        if (rank != 2 || shape[1] != FIELD_INPUTS || size_t(shape[0] * shape[1]) != count) throw std::invalid_argument("shape");
        return {std::vector<float>(data, data + count)};
    }
    template <typename T> const T *GetTensorData() const { return held.data(); }
};

struct Session {
    Session(Env &, const char *path, const SessionOptions &) {
        if (!std::ifstream(path)) throw std::invalid_argument(path);
    }
    std::vector<Value> Run(const RunOptions &, const char *const *inputs, const Value *values, size_t count,
                           const char *const *outputs, size_t wanted) {
        if (count != 1 || wanted != 1 || std::strcmp(inputs[0], INPUT) || std::strcmp(outputs[0], OUTPUT)) {
            throw std::invalid_argument("names");
        }
        const size_t points = values->held.size() / FIELD_INPUTS;
        Value result{std::vector<float>(points * FIELD_OUTPUTS)};
        for (size_t i = 0; i < points; i++) field(&values->held[i * FIELD_INPUTS], &result.held[i * FIELD_OUTPUTS]);
        return {result};
    }
};
}  // namespace Ort
