import type { Backup, BackupIndex, Link, StoredFile } from './index-file.ts'

/* Which files of a backup folder its backups need. */

/** The backup with this id, or the newest one. */
export function findBackup(index: BackupIndex, id: string | undefined): Backup {
  if (index.backups.length === 0) throw new Error('the folder has no backup')
  const found = id === undefined ? index.backups.at(-1) : index.backups.find((one) => one.id === id)
  if (found) return found
  const known = index.backups.map((one) => one.id).join(', ')
  throw new Error(`there is no backup ${id}; the folder has ${known}`)
}

/** Keeps the newest backups and, of what backups share, what these need. */
export function keepNewest(index: BackupIndex, count: number): BackupIndex {
  const backups = index.backups.slice(-count)
  const ids = (list: (backup: Backup) => readonly string[]) => new Set(backups.flatMap(list))
  const [images, captures] = [ids((one) => one.images), ids((one) => one.captures)]
  const links = new Set(
    backups.flatMap(({ machines }) => machines.flatMap(({ link }) => chainOf(index, link))),
  )
  return {
    ...index,
    backups,
    images: index.images.filter(({ id }) => images.has(id)),
    captures: index.captures.filter(({ id }) => captures.has(id)),
    links: index.links.filter((link) => links.has(link)),
  }
}

/** The links that make a disk, in the order in which they are received. The first one needs its image alone. */
export function chainOf(index: BackupIndex, id: Link['id']): readonly Link[] {
  const chain: Link[] = []
  for (let next: Link['id'] | null = id; next !== null;) {
    const link = index.links.find((one) => one.id === next)
    if (!link) throw new Error(`the folder lacks a part of a disk: ${next}`)
    chain.unshift(link)
    next = link.base
  }
  return chain
}

/** The newest link of each disk, which the next backup can be based on. */
export function newestLinks(index: BackupIndex): ReadonlyMap<string, Link> {
  return new Map(index.links.map((link) => [`${link.machine_id} ${link.generation}`, link]))
}

/** Every file that the index names. */
export function listFiles(index: BackupIndex): readonly StoredFile[] {
  return [
    ...index.backups.flatMap((one) => [
      ...one.tables.map(({ file }) => file),
      one.files,
      ...(one.keyring ? [one.keyring] : []),
    ]),
    ...index.images.flatMap(({ metadata, rootfs }) => [metadata, rootfs]),
    ...index.captures.map(({ file }) => file),
    ...index.links.map(({ file }) => file),
  ]
}
