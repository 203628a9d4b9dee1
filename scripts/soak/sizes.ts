/*
 * How much the tests that grow with time and machine do. `npm test` runs them small; with
 * COMPUTER_SOAK=full they run long enough to find what is rare.
 */

const mebibyte = 1024 ** 2

const small = {
  leases: { histories: 30, operations: 40 },
  faults: { operations: 60, kills: 20 },
  flipping: { tries: 20_000 },
  lifecycle: { rounds: 150 },
  gigabyte: { bytes: 64 * mebibyte },
  deep: { snapshots: 5 },
  full: { rounds: 2 },
}

const full: typeof small = {
  leases: { histories: 10_000, operations: 40 },
  faults: { operations: 600, kills: 200 },
  flipping: { tries: 1_000_000 },
  lifecycle: { rounds: 1_000 },
  gigabyte: { bytes: 1024 * mebibyte },
  deep: { snapshots: 50 },
  full: { rounds: 10 },
}

export function soakSize<Name extends keyof typeof small>(name: Name): (typeof small)[Name] {
  return process.env['COMPUTER_SOAK'] === 'full' ? full[name] : small[name]
}
