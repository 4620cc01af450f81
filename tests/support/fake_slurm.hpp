// Slurm's four commands as scripts that write down how they were called and answer from files: what
// no real cluster does on demand.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {

/// In PATH, ahead of a real one, while it lives.
class FakeSlurm {
 public:
  FakeSlurm() : path_(std::getenv("PATH")) {
    command("scontrol", R"sh(echo "MaxArraySize            = $(told max 1001)")sh");
    command("sbatch", R"sh(if [ -e "$here/reject" ]; then cat "$here/reject" >&2; exit 1; fi
n=$(ls "$here" | grep -c '^sbatch[.]')
for word; do printf '<%s>\n' "$word"; done >"$here/sbatch.$n"
told id "$((17 + n))")sh");
    command("squeue", R"sh(case "$*" in *--name=*) told active ""; exit 0 ;; esac
if [ -e "$here/silent" ]; then echo 'slurm_load_jobs error: Unable to contact' >&2; exit 1; fi
told tasks "")sh");
    command("scancel", R"sh(echo "$@" >>"$here/cancelled")sh");
    setenv("PATH", (scratch_.path("") + ":" + path_).c_str(), 1);
  }
  ~FakeSlurm() { setenv("PATH", path_.c_str(), 1); }
  FakeSlurm(const FakeSlurm&) = delete;
  FakeSlurm& operator=(const FakeSlurm&) = delete;

  /// What a command finds: reject, max, id, active, tasks, silent.
  void put(std::string_view name, std::string_view content) const { scratch_.file(name, content); }
  /// The words of the n-th sbatch, one a line, each as <word>; and what was cancelled.
  std::string call(int n) const { return said("sbatch." + std::to_string(n)); }
  std::string cancelled() const { return said("cancelled"); }

 private:
  void command(std::string_view name, std::string_view body) const {
    const std::string file =
        scratch_.file(name, "#!/bin/sh\nhere='" + scratch_.path("") +
                                "'\ntold() { cat \"$here/$1\" 2>/dev/null || echo \"$2\"; }\n" +
                                std::string(body) + "\n");
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  std::string said(const std::string& name) const {
    const std::string file = scratch_.path(name);
    return std::filesystem::exists(file) ? read_file(file) : "";
  }

  Scratch scratch_;
  std::string path_;
};

}  // namespace spillway::test
