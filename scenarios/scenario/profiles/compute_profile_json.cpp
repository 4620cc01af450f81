#include "scenarios/scenario/profiles/compute_profile_json.hpp"

#include <algorithm>

#include "models/compute/ratio_grid.hpp"
#include "reports/fields/write.hpp"
#include "scenarios/scenario/config/field_json.hpp"
#include "scenarios/scenario/profiles/compute_profile_fields.hpp"
#include "scenarios/scenario/profiles/profile_document.hpp"

namespace spillway {

namespace {

void check_axes(const ObjectReader& in, const char* key, const RatioGrid& grid, std::size_t axes) {
  if (grid.empty() || grid.axes.size() == axes) return;
  in.fail(key, fmt::format("expected a grid over {} axes, found {}", axes, grid.axes.size()));
}

template <class Rows, class Same>
void refuse_twice(const ObjectReader& in, const char* key, const Rows& rows, Same&& same) {
  for (auto a = rows.begin(); a != rows.end(); ++a) {
    const auto twin = std::find_if(a + 1, rows.end(), [&](const auto& b) { return same(*a, b); });
    if (twin == rows.end()) continue;
    in.fail(key, fmt::format("expected each type once, found items {} and {} of the same",
                             a - rows.begin(), twin - rows.begin()));
  }
}

constexpr ProfileKind kKind = {kComputeProfileKind, kComputeProfileVersion, "fit",
                               "hardware-profile",
                               "; make one of kernel tables with: spillway fit"};

}  // namespace

void Fields<RatioGrid>::check(const ObjectReader& in, const RatioGrid& grid) {
  if (grid.axes.empty() || grid.axes.size() > RatioTable::kMostAxes) {
    in.fail("axes", fmt::format("expected 1 to {} axes, found {}", RatioTable::kMostAxes,
                                grid.axes.size()));
  }
  std::size_t crossings = 1;
  for (const std::vector<double>& axis : grid.axes) {
    if (!ascending(axis)) in.fail("axes", "expected numbers that ascend on each axis");
    crossings *= axis.size();
  }
  if (grid.ratios.size() != crossings) {
    in.fail("ratios", fmt::format("expected {} numbers, one for each crossing of the axes, found "
                                  "{}",
                                  crossings, grid.ratios.size()));
  }
}

void Fields<ProductCurve>::check(const ObjectReader& in, const ProductCurve& curve) {
  if (!ascending(curve.rows)) in.fail("rows", "expected ascending numbers");
  if (curve.ratios.size() != curve.rows.size()) {
    in.fail("ratios", fmt::format("expected {} numbers, one for each of rows, found {}",
                                  curve.rows.size(), curve.ratios.size()));
  }
}

void Fields<AttentionKernels>::check(const ObjectReader& in, const AttentionKernels& kernels) {
  constexpr std::size_t kAxes = 3;
  check_axes(in, "prefill", kernels.prefill, kAxes);
  check_axes(in, "prefill_mha", kernels.prefill_mha, kAxes);
  check_axes(in, "decode", kernels.decode, kAxes);
  check_axes(in, "decode_mha", kernels.decode_mha, kAxes);
  check_axes(in, "mixed", kernels.mixed, kAxes);
}

void Fields<ExpertKernels>::check(const ObjectReader& in, const ExpertKernels& kernels) {
  check_axes(in, "ratios", kernels.ratios, 2);
}

void Fields<ComputeProfile>::check(const ObjectReader& in, const ComputeProfile& profile) {
  check_axes(in, "elementwise", profile.elementwise, 1);
  refuse_twice(in, "products", profile.products,
               [](const auto& a, const auto& b) { return a.dtype == b.dtype; });
  refuse_twice(in, "experts", profile.experts,
               [](const auto& a, const auto& b) { return a.dtype == b.dtype; });
  refuse_twice(in, "attention", profile.attention, [](const auto& a, const auto& b) {
    return a.kv_dtype == b.kv_dtype && a.head_dim == b.head_dim;
  });
}

Document compute_profile_document(const ComputeProfile& profile, nlohmann::json inputs) {
  Document document;
  document.kind = kComputeProfileKind;
  document.profile_version = kComputeProfileVersion;
  document.inputs = std::move(inputs);
  document.results = to_document(profile);
  document.warnings = plain_notes(profile.warnings);
  return document;
}

std::string render_compute_profile(const Document& document) {
  const std::string text = render_document(document);
  constexpr std::string_view kOfNumbers = "0123456789+-.eE, \n";
  std::string out;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted && c == '\\') {
      out += c;
      out += text[++at];
      continue;
    }
    if (c == '"') quoted = !quoted;
    const std::size_t end = quoted || c != '[' ? at : text.find_first_not_of(kOfNumbers, at + 1);
    if (end == at || text[end] != ']') {
      out += c;
      continue;
    }
    for (; at < end; ++at) {
      if (text[at] != ' ' && text[at] != '\n') out += text[at];
    }
    out += ']';
  }
  return out;
}

ComputeProfile read_compute_profile(const JsonSource& source, std::vector<std::string>& warnings) {
  const ObjectReader top(source, "", "a profile document");
  check_profile_envelope(top, kKind);
  const auto results = top.open_object("results");
  if (!results) top.missing("results", "an object");
  UnknownMembers unknown;
  ComputeProfile out = read_row<ComputeProfile>(*results, "", unknown);
  out.warnings = top.texts("warnings").value_or(std::vector<std::string>());
  warn_of_contents(top, unknown, warnings);
  return out;
}

}  // namespace spillway
