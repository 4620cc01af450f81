#include "scenarios/experiment/segments.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "reports/notes/study_notes.hpp"
#include "sim/digest.hpp"
#include "sim/error.hpp"
#include "sim/input_file.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kAnyLength = ~std::uint64_t{0};  // runs of a sweep are many

// {"xxh3":"<16 digits>","key":"<64 digits>","size":<bytes of the payload>,"payload":...,"aside":..}
constexpr std::string_view kHead = "{\"xxh3\":\"";
constexpr std::string_view kKey = "\",\"key\":\"";
constexpr std::string_view kSize = "\",\"size\":";
constexpr std::string_view kPayload = ",\"payload\":";
constexpr std::string_view kAside = ",\"aside\":";
constexpr std::size_t kHashDigits = 16;
constexpr std::size_t kKeyDigits = 64;

constexpr std::string_view kSuffix = ".jsonl";
constexpr int kMostAttempts = 1'000'000;
constexpr std::uint32_t kSyncEntries = 16;
constexpr auto kSyncAfter = std::chrono::seconds(2);

std::string checksum(std::string_view text) {
  Digest digest;
  digest.bytes(text.data(), text.size());
  return digest.hex();
}

/// Takes `part` off the front of `text`; false where it does not stand there.
bool take(std::string_view& text, std::string_view part) {
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

/// Makes a new directory entry durable; some file systems refuse, which is harmless.
void sync_folder(const std::string& folder) {
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  (void)fsync(directory);
  close(directory);
}

/// `live`: what follows the last line's end is left alone.
void read_one(const std::string& path, const EachEntry& each, SegmentCursor::At& from, bool live,
              SegmentReport& report) {
  const std::string text = read_file(path, from.bytes, kAnyLength);
  std::uint64_t corrupt = 0;
  bool torn = false;
  SegmentPlace place{path, from.lines};
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const bool ended = end != std::string::npos;
    if (!ended && live) break;
    ++place.line;
    SegmentEntry entry;
    if (ended && parse_segment_line(std::string_view(text).substr(at, end - at), entry)) {
      ++report.entries;
      each(std::move(entry), place);
    } else if (!ended || (end + 1 == text.size() && !live)) {
      torn = true;
    } else {
      ++corrupt;
    }
    at = ended ? end + 1 : text.size();
  }
  from.bytes += at;
  from.lines = place.line;
  ++report.files;
  report.torn += torn ? 1 : 0;
  report.corrupt += corrupt;
  if (torn) {
    report.notes.push_back(study_note("segment-cut-off", {{"file", path}}));
  }
  if (corrupt > 0) {
    report.notes.push_back(study_note("segment-damaged", {{"file", path}, {"lines", corrupt}}));
  }
}

}  // namespace

std::string segment_line(const SegmentEntry& entry) {
  KV_ASSERT(entry.key.size() == kKeyDigits, "a key of {} digits", entry.key.size());
  std::string rest = fmt::format("{}{}{}{}{}{}{}{}}}", kKey, entry.key, kSize, entry.payload.size(),
                                 kPayload, entry.payload, kAside, entry.aside);
  KV_ASSERT(rest.find('\n') == std::string::npos, "a line break within a line");
  return std::string(kHead) + checksum(rest) + rest;
}

bool parse_segment_line(std::string_view line, SegmentEntry& entry) {
  if (!take(line, kHead) || line.size() < kHashDigits) return false;
  const std::string_view hash = line.substr(0, kHashDigits);
  line.remove_prefix(kHashDigits);
  if (checksum(line) != hash) return false;
  if (!take(line, kKey) || line.size() < kKeyDigits) return false;
  entry.key = line.substr(0, kKeyDigits);
  line.remove_prefix(kKeyDigits);
  std::size_t size = 0;
  if (!take(line, kSize)) return false;
  const auto [end, status] = std::from_chars(line.data(), line.data() + line.size(), size);
  if (status != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (!take(line, kPayload) || line.size() < size) return false;
  entry.payload = line.substr(0, size);
  line.remove_prefix(size);
  if (!take(line, kAside) || !line.ends_with('}')) return false;
  entry.aside = line.substr(0, line.size() - 1);
  return true;
}

SegmentReport read_segments(const std::string& folder, const EachEntry& each,
                            std::string_view prefix, SegmentCursor* cursor) {
  SegmentReport report;
  std::error_code error;
  std::filesystem::directory_iterator files(folder, error);
  if (error == std::errc::no_such_file_or_directory) return report;
  if (error) {
    throw InputError(Fault::kIo, {folder, 0, ""}, fmt::format("cannot read: {}", error.message()));
  }
  std::vector<std::string> names;
  for (const auto& file : files) {
    std::string name = file.path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(kSuffix)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    SegmentCursor::At begin;
    read_one(folder + "/" + name, each, cursor != nullptr ? cursor->files[name] : begin,
             cursor != nullptr, report);
  }
  return report;
}

SegmentWriter::SegmentWriter(std::string folder, std::string stem)
    : folder_(std::move(folder)),
      stem_(std::move(stem)),
      synced_at_(std::chrono::steady_clock::now()) {}

SegmentWriter::~SegmentWriter() {
  if (file_ < 0) return;
  if (unsynced_ > 0) (void)fsync(file_);
  close(file_);
}

void SegmentWriter::fail(const char* what) {
  const int error = errno;
  // Nobody reads a torn line, but a whole file is tidier.
  if (file_ >= 0) (void)!ftruncate(file_, size_);
  throw InputError(Fault::kIo, {path_, 0, ""}, fmt::format("{}: {}", what, std::strerror(error)));
}

void SegmentWriter::open() {
  for (int attempt = 1; file_ < 0; ++attempt) {
    path_ = fmt::format("{}/{}-{}{}", folder_, stem_, attempt, kSuffix);
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (file_ >= 0) break;
    if (errno != EEXIST && errno != EINTR) fail("cannot open for writing");
    KV_ASSERT(attempt < kMostAttempts, "{} segments of {}", attempt, stem_);
  }
  // Ours alone already; the lock tells others that it is being written.
  (void)flock(file_, LOCK_EX | LOCK_NB);
  sync_folder(folder_);
}

void SegmentWriter::append(const SegmentEntry& entry) {
  if (file_ < 0) open();
  const std::string line = segment_line(entry) + "\n";
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      fail("cannot write");
    }
  }
  size_ += static_cast<std::int64_t>(line.size());
  ++unsynced_;
  if (unsynced_ >= kSyncEntries || std::chrono::steady_clock::now() - synced_at_ >= kSyncAfter) {
    sync();
  }
}

void SegmentWriter::sync() {
  if (unsynced_ == 0) return;
  while (fsync(file_) != 0) {
    // A pipe or a device has nothing to sync.
    if (errno == EINVAL || errno == EROFS) break;
    if (errno != EINTR) fail("cannot write");
  }
  unsynced_ = 0;
  synced_at_ = std::chrono::steady_clock::now();
}

}  // namespace spillway
