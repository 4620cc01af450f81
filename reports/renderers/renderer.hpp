// Renderers: a Report in, a document out. And the catalogue of formats: what a result can be
// written as, whether that is made of its Report or of its figures.
#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "reports/report.hpp"
#include "sim/catalogue.hpp"
#include "sim/plan_result.hpp"
#include "sim/result.hpp"

namespace spillway {

struct Provenance;

class Renderer {
 public:
  virtual ~Renderer() = default;
  virtual void render(const Report& report, std::ostream& out) const = 0;
};

/// How a text renderer may use the terminal.
struct RenderOptions {
  bool color = false;
  bool unicode = false;   ///< characters beyond ASCII for rules and curves
  std::size_t width = 0;  ///< columns of the terminal; 0: lines are as long as they need to be
};

/// What alert rules are told beside their figures.
struct AlertOptions {
  std::string matcher{};      ///< of labels, checked: model_name="llama",namespace="prod"
  std::string runbook_url{};  ///< checked; empty: none
};

/// A result itself, for formats that are made of its figures.
struct ResultView {
  std::string_view kind;           ///< of its document: run, plan, compare, ...
  const RunResult* run = nullptr;  ///< of kind run
  const PlanResult* plan = nullptr;
  const Provenance* provenance = nullptr;
  std::string_view document{};  ///< as JSON, checked
  std::string engines{};        ///< whose metrics to use instead of the scenario's engine's
  AlertOptions alerts{};
};

struct Format {
  std::string_view name;
  std::string_view summary;  ///< one sentence, for help and listings
  std::string_view file;     ///< name in --out's folder
  /// Exactly one of the two.
  std::unique_ptr<Renderer> (*make)(const RenderOptions&) = nullptr;
  void (*write)(const ResultView&, std::ostream&) = nullptr;
  std::string_view kinds{};  ///< that `write` takes, comma-separated; empty: all

  bool fits(std::string_view kind) const;
};

/// All of them; those that are made of a Report come first.
std::span<const Format> formats();
/// Those that are made of a Report.
std::span<const Format> renderers();
/// The format of this name, whatever results it is made of. Throws InputError at `option`.
const Format& known_format(std::string_view name, std::string_view option);
/// Throws InputError (exit 2) at `option` where there is no format of that name, or it does not
/// fit results of `kind`.
const Format& find_format(std::string_view name, std::string_view kind, std::string_view option);
/// The names of those that fit results of `kind`, in the catalogue's order.
std::vector<std::string_view> formats_of(std::string_view kind);

}  // namespace spillway
