// Every transfer of a simulation: jobs that go hop by hop through stations, over shared media.
// There is one fabric; links, drives and servers of all engines are routes in it.
//
// A station serves jobs in order of arrival, at most `slots` at a time, without preemption: 1 slot
// is a copy engine, 64 a thread pool, k a queue depth. Of two classes of jobs the first goes first,
// each in order of arrival. What a job needs there is its ServiceModel's answer at the instant its
// service begins: a latency that holds the slot and moves nothing, then a flow of bytes that alone
// would take so long.
//
// Two stations may be a duplex pair: while bytes move through one, the other keeps its own share of
// its speed. Work left is kept in fixed point, 2^-16 ns: undisturbed, every end is exact.
//
// A flow may cross media, which bound the sum of their flows (fair_share.hpp). A medium that serves
// first come, first served is a station.
//
// A route is a list of hops; a job enters the next when the last byte has left this one (store and
// forward). A `pipelined` hop hands the job on after the first of its copies; the next hop then
// ends no earlier than the hand-over of the last copy plus what that copy takes alone. So does a
// host thread that submits copies feed a copy engine.
//
// A job's end comes in the phase kTransferDone of its instant. A station or medium with a link
// number tells its observer of every hop over it, so that every byte on every path is counted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/link/fair_share.hpp"
#include "models/link/service.hpp"
#include "sim/event_queue.hpp"
#include "sim/observer.hpp"
#include "sim/slab.hpp"

namespace spillway {

enum class StationId : std::uint32_t {};
enum class RouteId : std::uint32_t {};

/// Not told to observers.
inline constexpr std::uint32_t kNoLink = ~std::uint32_t{0};

struct StationSpec {
  std::unique_ptr<ServiceModel> model;
  std::uint32_t slots = 1;
  std::uint32_t link = kNoLink;  ///< its number in observations and results
  Observer* observer = nullptr;  ///< of the engine that the link belongs to; where it has a number
};

struct Hop {
  StationId station{};
  std::vector<MediumId> media{};
  std::uint8_t priority = 0;  ///< 0 goes before 1
  bool pipelined = false;     ///< only at a station of one slot, unpaired, without media
};

class RouteListener {
 public:
  /// A station of the route has begun to serve the job, or has handed it on (a pipelined hop with
  /// the first copy). Nothing may be submitted here.
  virtual void on_route_service(RouteId /*route*/, std::uint32_t /*job*/, bool /*begins*/) {}
  /// The job has ended its route.
  virtual void on_route_done(RouteId route, std::uint32_t job) = 0;

 protected:
  ~RouteListener() = default;
};

class Fabric final : public EventHandler, private FlowListener {
 public:
  explicit Fabric(EventQueue& queue);

  // The layout is complete before the first job.
  StationId add_station(StationSpec spec);
  /// Each keeps its own factor of its speed, in (0, 1], while the other moves bytes.
  void pair(StationId a, double factor_a, StationId b, double factor_b);
  MediumId add_medium(std::int64_t bytes_per_second, std::uint32_t link = kNoLink,
                      Observer* observer = nullptr);
  /// Of a rate that depends on the number of flows (fair_share.hpp).
  MediumId add_medium(std::span<const std::int64_t> bytes_per_second_by_flows);
  RouteId add_route(std::span<const Hop> hops);

  /// `job` is the listener's own number. Preconditions: payload > 0, copies > 0.
  void submit(RouteId route, std::uint32_t job, Bytes payload, std::uint32_t copies,
              RouteListener& listener);

  std::uint32_t in_flight() const { return in_flight_; }
  bool idle() const { return in_flight_ == 0; }
  /// How long it has had any job in service, or any flow.
  Duration busy(StationId station) const;
  Duration busy(MediumId medium) const { return shares_.busy(medium); }
  BytesPerSecond rate_now(MediumId medium) const { return shares_.rate_now(medium); }

  void on_event(EventPayload payload) override;

 private:
  using Id = std::uint32_t;
  static constexpr Id kNone = ~Id{0};

  struct HopData {
    Id station = 0;
    Id group = kNone;  ///< of media
    Id first_medium = 0;
    Id media = 0;
    std::uint8_t priority = 0;
    bool pipelined = false;
  };
  struct Route {
    Id first_hop = 0;
    Id hops = 0;
  };
  struct Job {
    RouteListener* listener = nullptr;
    std::uint32_t number = 0;
    std::uint32_t copies = 0;
    Bytes payload;
    Id route = 0;
    Id hop = 0;       ///< counted over all routes
    Id next = kNone;  ///< behind it in the same queue
    Id place = 0;     ///< among the flows of a paired station
    std::uint32_t epoch = 0;
    Time submitted{};   ///< to this hop
    Time started{};     ///< its service there
    Time flows_from{};  ///< behind the latency
    Service service;
    Time handed_over = Time::min();  ///< by a pipelined hop before: its last copy
    Time not_before{};               ///< ends no earlier, for that
    std::int64_t left = 0;           ///< work at `since`, 2^-16 ns
    std::int64_t speed = 0;          ///< 2^-16 ns of work per ns
    Time since{};
  };
  struct Queue {
    Id head = kNone;
    Id tail = kNone;
  };
  struct Station {
    std::unique_ptr<ServiceModel> model;
    std::uint32_t slots = 1;
    std::uint32_t link = kNoLink;
    Observer* observer = nullptr;
    Id opposite = kNone;
    std::int64_t slowed = 0;
    std::uint32_t serving = 0;
    std::array<Queue, 2> waiting;
    std::vector<Id> flows;  ///< jobs that move bytes, where paired
    Id submitting = kNone;  ///< where pipelined: not handed over yet
    TransferRecord record;  ///< where pipelined: of the job in service
    Duration busy{};
    Time busy_since{};
    // The rate of the last flow: often that of the next, too.
    Bytes rate_payload{0};
    Duration rate_alone{};
    std::int64_t rate_speed = 0;
    FairShare::Rate rate = 0;
  };
  void on_flows_done(std::span<const std::uint32_t> flows) override;
  /// Calls may nest through listeners; when the outermost is left, media are shared anew.
  void open() { ++depth_; }
  void close() {
    if (--depth_ == 0) shares_.settle();
  }
  void enter(Id job);
  void begin(Id job);
  void begin_pipelined(Id job);
  void start_flow(Id job);
  void end_flow(Id job);
  void end_hop(Id job);
  void end_submission(Id station);
  void release(Id station);
  void go_on(Id job);
  void tell(const Job& job);
  std::int64_t speed_at(const Station& station) const;
  FairShare::Rate rate_of(Station& station, const Job& job, std::int64_t speed);
  void retime(Id station);
  void schedule_end(Id job);
  void schedule(Id job, Time at, std::uint16_t kind);

  EventQueue& queue_;
  FairShare shares_;
  std::vector<Station> stations_;
  std::vector<HopData> hops_;
  std::vector<MediumId> hop_media_;
  struct MediumLink {
    std::uint32_t link = kNoLink;
    Observer* observer = nullptr;
  };
  std::vector<MediumLink> medium_links_;
  std::vector<Route> routes_;
  Slab<Job> jobs_;
  std::uint32_t in_flight_ = 0;
  int depth_ = 0;
};

}  // namespace spillway
