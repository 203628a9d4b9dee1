import type { UsageRecord } from '@computer/sdk'

/** The groups that usage is summed by: machines, callers, or the values of a label. */
export type Grouping = { readonly by: 'machine' | 'key' } | { readonly by: 'label'; key: string }

/** As in the address: `machine`, `key`, or `label:KEY`. Anything else is by machine. */
export function readGrouping(text: string | undefined): Grouping {
  if (text === 'key') return { by: 'key' }
  if (text?.startsWith('label:')) return { by: 'label', key: text.slice('label:'.length) }
  return { by: 'machine' }
}

export function writeGrouping(grouping: Grouping): string {
  return grouping.by === 'label' ? `label:${grouping.key}` : grouping.by
}

/** A key of the group that a sum is for. */
export function groupOf(record: Pick<UsageRecord, 'machineId' | 'actor' | 'labels'>): string {
  const [label] = Object.values(record.labels)
  if (label !== undefined) return `=${label}`
  return record.machineId ?? record.actor?.id ?? ''
}
