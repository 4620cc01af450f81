// The words that all rooms of an engine share: requests, steps, names of blocks, figures.
#pragma once

#include "models/engine/engine_stats.hpp"
#include "models/engine/local_chains.hpp"
#include "models/engine/step_plan.hpp"
