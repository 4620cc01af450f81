// Which GPU and which model files are of, as far as their names and folders tell.
#pragma once

#include <string>
#include <vector>

#include "models/catalogue/gpu_spec.hpp"
#include "models/catalogue/model_spec.hpp"

namespace spillway {

/// The one that a word of a path names (words end at "_" and "/"; the folder five up counts last):
/// aic_h100_sxm_gemm.csv, perf/RTX4090/meta-llama/Llama-3.1-8B/tp1/dense.csv. nullptr where no word
/// does, or words name several.
const GpuSpec* gpu_named_in(const std::vector<std::string>& paths);
const ModelSpec* model_named_in(const std::vector<std::string>& paths);

}  // namespace spillway
