import type { MachineSize, PriceItem } from '@computer/contract'

/* The versions of the catalog in the simulated year, in plain numbers. */

export type YearCatalog = {
  readonly version: number
  readonly published_at: string
  readonly effective_at: string
  /** From the lowest to the highest. */
  readonly plans: readonly {
    readonly id: string
    readonly hours: number | null
    readonly disk_bytes: number | null
    readonly overage: boolean
  }[]
  /** In the order in which they use up the included compute. */
  readonly sizes: readonly {
    readonly id: MachineSize
    readonly weight: number
    readonly disk_gb: number
  }[]
  /** Null cents: free. */
  readonly prices: readonly {
    readonly item: PriceItem
    readonly cents: number | null
    readonly per: string
  }[]
}

const gib = 2 ** 30
const gibMonth = String(gib * 30 * 86_400)
const enterprise = { id: 'enterprise', hours: null, disk_bytes: null, overage: true }

export const catalogs: readonly YearCatalog[] = [
  // That of a new server.
  {
    version: 1,
    published_at: '2026-01-01T00:00:00.000Z',
    effective_at: '2026-01-01T00:00:00.000Z',
    plans: [
      { id: 'free', hours: 5, disk_bytes: 10 * gib, overage: false },
      { id: 'developer', hours: 120, disk_bytes: 75 * gib, overage: true },
      { id: 'pro', hours: 400, disk_bytes: 200 * gib, overage: true },
      { id: 'startup', hours: 2000, disk_bytes: 1024 * gib, overage: true },
      enterprise,
    ],
    sizes: [
      { id: 'small', weight: 500, disk_gb: 10 },
      { id: 'standard', weight: 1000, disk_gb: 25 },
      { id: 'large', weight: 2000, disk_gb: 50 },
    ],
    prices: [
      { item: 'compute', cents: 10, per: '3600000' },
      { item: 'hot_storage', cents: 10, per: gibMonth },
      { item: 'cold_storage', cents: 5, per: gibMonth },
      { item: 'egress', cents: 5, per: String(gib) },
    ],
  },
  // Without the plan startup; other numbers, and another order of the sizes.
  {
    version: 2,
    published_at: '2028-06-02T10:00:00.000Z',
    effective_at: '2028-06-15T00:00:00.000Z',
    plans: [
      { id: 'free', hours: 7, disk_bytes: 9 * gib + 1, overage: false },
      { id: 'developer', hours: 101, disk_bytes: 60 * gib, overage: true },
      { id: 'pro', hours: 333, disk_bytes: 222_222_222_222, overage: true },
      enterprise,
    ],
    sizes: [
      { id: 'large', weight: 2250, disk_gb: 60 },
      { id: 'small', weight: 437, disk_gb: 12 },
      { id: 'standard', weight: 1001, disk_gb: 26 },
    ],
    prices: [
      { item: 'compute', cents: 13, per: '3600000' },
      { item: 'hot_storage', cents: 7, per: '2783138807807999' },
      { item: 'cold_storage', cents: 3, per: gibMonth },
      { item: 'egress', cents: null, per: '1' },
    ],
  },
  // From the first moment of a period on.
  {
    version: 3,
    published_at: '2028-09-29T23:59:59.999Z',
    effective_at: '2028-10-01T00:00:00.000Z',
    plans: [
      { id: 'free', hours: 7, disk_bytes: 10 * gib, overage: false },
      { id: 'developer', hours: 111, disk_bytes: 61 * gib, overage: true },
      { id: 'pro', hours: 345, disk_bytes: 200 * gib, overage: true },
      enterprise,
    ],
    sizes: [
      { id: 'small', weight: 499, disk_gb: 12 },
      { id: 'standard', weight: 1000, disk_gb: 26 },
      { id: 'large', weight: 1999, disk_gb: 60 },
    ],
    prices: [
      { item: 'compute', cents: 11, per: '3600000' },
      { item: 'hot_storage', cents: 9, per: gibMonth },
      { item: 'egress', cents: 6, per: '1073741823' },
    ],
  },
]
