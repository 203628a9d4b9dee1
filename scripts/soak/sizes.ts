/*
 * How long the soaks are. Each is a test that proves as much as it is given time for: `npm test` runs
 * the small sizes, `npm run soak` the full ones.
 */
const small = {
  leases: { histories: 8, operations: 40 },
  faults: { operations: 20, kills: 6 },
  hosts: { operations: 20, kills: 6 },
  churn: { hosts: 1, warmUpMinutes: 0, minutes: 1, skippedMinutes: 0 },
  flipping: { tries: 4_000 },
  lifecycle: { rounds: 60 },
  requests: { count: 3_000 },
  // Several times what a process may hold of it, so that holding it all shows.
  gigabyte: { mebibytes: 384 },
  deep: { snapshots: 5 },
  fleet: { machines: 2_500 },
  full: { rounds: 2 },
  hostile: { rounds: 500 },
  billing: { cases: 250, years: 1 },
  races: { rounds: 3, bare: 15, places: 15 },
  guard: { rounds: 100, pages: 60 },
  webhooks: { deliveries: 1_500, kills: 3 },
}
export type SoakName = keyof typeof small

const full: typeof small = {
  leases: { histories: 10_000, operations: 40 },
  faults: { operations: 600, kills: 200 },
  hosts: { operations: 600, kills: 200 },
  churn: { hosts: 1, warmUpMinutes: 5, minutes: 480, skippedMinutes: 60 },
  flipping: { tries: 1_000_000 },
  lifecycle: { rounds: 1_000 },
  requests: { count: 200_000 },
  gigabyte: { mebibytes: 1024 },
  deep: { snapshots: 50 },
  fleet: { machines: 10_000 },
  full: { rounds: 10 },
  hostile: { rounds: 20_000 },
  billing: { cases: 100_000, years: 50 },
  races: { rounds: 200, bare: 200, places: 200 },
  guard: { rounds: 10_000, pages: 10_000 },
  webhooks: { deliveries: 100_000, kills: 50 },
}

/** Sizes of this run: COMPUTER_SOAK is `full` in `npm run soak`, COMPUTER_SOAK_SIZE overrides one, as JSON. */
export function soakSize<Name extends SoakName>(
  name: Name,
  env = process.env,
): (typeof small)[Name] {
  const sizes = isSoak(env) ? full : small
  return { ...sizes[name], ...(JSON.parse(env['COMPUTER_SOAK_SIZE'] ?? '{}') as object) }
}

/** Whether this run is a soak, which has the machine to itself. */
export function isSoak(env = process.env): boolean {
  return env['COMPUTER_SOAK'] === 'full'
}

/** The seed of this run, or the given one. A failure names it. */
export function soakSeed(usual: number, env = process.env): number {
  return Number(env['COMPUTER_SOAK_SEED'] ?? usual)
}
