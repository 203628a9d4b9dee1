import type { MachineSize } from '@computer/contract'
import type { Generated } from 'kysely'

/** Plans, sizes and prices, by version of the catalog. */
export type CatalogTables = {
  catalog_versions: { version: number; effective_at: Date }
  catalog_sizes: {
    catalog_version: number
    id: MachineSize
    position: number
    cpu: number
    memory_mb: number
    disk_gb: number
    weight_milli: number
  }
  catalog_plans: {
    catalog_version: number
    id: string
    position: number
    name: string
    running_machines: number | null
    machines: number | null
    snapshots_per_machine: number | null
    templates: number | null
    members: number | null
    concurrent_sessions: number | null
    largest_size: MachineSize | null
    included_standard_hours: number | null
    included_hot_storage_bytes: number | null
    overage_allowed: boolean
    price_cents: number | null
    currency: string
    when_used_up: Generated<'allow' | 'refuse' | 'stop'>
  }
  catalog_prices: {
    catalog_version: number
    item: 'compute' | 'hot_storage' | 'cold_storage' | 'egress'
    currency: string
    cents: number | null
    /** A decimal string. */
    per_units: string
  }
}
