import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Backup, BackupIndex, Link, StoredFile } from './index-file.ts'
import { chainOf, findBackup, keepNewest, listFiles, newestLinks } from './retention.ts'

/* A folder with three backups of two machines; the third is a full one. The second machine is deleted after the first. */
const index: BackupIndex = {
  version: 1,
  id: 'a'.repeat(26),
  backups: [
    makeBackup('one', { machines: { m: 'm1', n: 'n1' }, captures: ['c1'] }),
    makeBackup('two', { machines: { m: 'm2' }, captures: ['c1', 'c2'] }),
    makeBackup('three', { machines: { m: 'm3' }, captures: ['c2'] }),
  ],
  images: [{ id: 'img_one', metadata: fileOf('metadata'), rootfs: fileOf('rootfs') }],
  captures: ['c1', 'c2'].map((name) => ({
    id: `cap_${name}`,
    image_id: 'img_one',
    file: fileOf(name),
  })),
  links: [makeLink('m', 'm1', null), makeLink('n', 'n1', null), makeLink('m', 'm2', 'm1')].concat(
    makeLink('m', 'm3', null),
  ),
}

test('a disk is made from its chain, beginning with the link that needs the image alone', () => {
  assert.deepEqual(
    chainOf(index, 'cap_m2').map(({ id }) => id),
    ['cap_m1', 'cap_m2'],
  )
  assert.throws(() => chainOf(index, 'cap_gone'), /lacks a part of a disk: cap_gone/)
})

test('the next backup of a disk is based on its newest link', () => {
  const newest = newestLinks(index)
  assert.equal(newest.get('mch_m 1')?.id, 'cap_m3')
  assert.equal(newest.get('mch_n 1')?.id, 'cap_n1')
})

test('a backup that is removed takes with it what no other needs, and nothing else', () => {
  const two = keepNewest(index, 2)
  assert.deepEqual(
    two.backups.map(({ id }) => id),
    ['two', 'three'],
  )
  // The second backup needs the first link of its chain, and both snapshots.
  assert.deepEqual(
    two.links.map(({ id }) => id),
    ['cap_m1', 'cap_m2', 'cap_m3'],
  )
  assert.equal(two.captures.length, 2)

  const one = keepNewest(index, 1)
  const paths = listFiles(one).map(({ path }) => path)
  assert.deepEqual(paths.sort(), ['c2', 'm3', 'metadata', 'rootfs', 'three.tar', 'three/users'])
  assert.deepEqual(keepNewest(index, 9), index)
})

test('a backup is found by its id, and the newest without one', () => {
  assert.equal(findBackup(index, undefined).id, 'three')
  assert.equal(findBackup(index, 'one').id, 'one')
  assert.throws(() => findBackup(index, 'none'), /no backup none; the folder has one, two, three/)
  assert.throws(() => findBackup({ ...index, backups: [] }, undefined), /the folder has no backup/)
})

function makeBackup(
  id: string,
  disks: { readonly machines: Readonly<Record<string, string>>; readonly captures: string[] },
): Backup {
  return {
    id,
    created_at: '2027-01-31T23:59:59.000Z',
    host: 'local',
    added_bytes: 1,
    migrations: [],
    tables: [{ name: 'users', columns: ['id'], file: fileOf(`${id}/users`) }],
    sequences: [],
    files: fileOf(`${id}.tar`),
    keyring: null,
    images: ['img_one'],
    captures: disks.captures.map((name) => `cap_${name}` as const),
    machines: Object.entries(disks.machines).map(
      ([machine, link]) => ({ id: `mch_${machine}`, generation: 1, link: `cap_${link}` }) as const,
    ),
    missing: [],
  }
}

function makeLink(machine: string, name: string, base: string | null): Link {
  return {
    id: `cap_${name}`,
    machine_id: `mch_${machine}`,
    generation: 1,
    image_id: 'img_one',
    base: base === null ? null : `cap_${base}`,
    file: fileOf(name),
  }
}

function fileOf(path: string): StoredFile {
  return { path, sha256: '0'.repeat(64), bytes: 1 }
}
