// What nearly every reader here includes and none of ours changes: parsed once per build.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
