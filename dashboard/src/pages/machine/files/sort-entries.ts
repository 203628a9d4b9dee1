import type { DirectoryEntry } from '@computer/sdk'

const collator = new Intl.Collator('en', { numeric: true })

/** Directories first, then by name as people order them; hidden ones after the others. */
export function sortEntries(entries: readonly DirectoryEntry[]): DirectoryEntry[] {
  return entries.toSorted((a, b) => rank(a) - rank(b) || collator.compare(a.name, b.name))
}

function rank({ name, type }: DirectoryEntry): number {
  return (type === 'directory' ? 0 : 2) + (name.startsWith('.') ? 1 : 0)
}
