import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../replace-file.ts'

/** Machines' root folders are below it, so other users need access; its private folders have mode 0700. */
export function prepareDataDir(dataDir: string): void {
  mkdirSync(join(dataDir, 'run'), { recursive: true, mode: 0o700 })
  chmodSync(dataDir, 0o711)
}

/* A restore fills an empty data folder. Until it is complete, a mark in the folder says that it is not. */

/** The set-up, the operator and the file system may have put these there before. */
const allowedNames = ['images', 'computer.env', 'lost+found']

/** Throws unless a backup can be restored into the folder, with what is in the way. */
export function requireEmptyDataDir(dataDir: string): void {
  if (existsSync(markPath(dataDir))) throw new Error(describeMark(dataDir))
  const names = existsSync(dataDir) ? readdirSync(dataDir) : []
  const others = names.filter((name) => !allowedNames.includes(name)).sort()
  if (others.length === 0) return
  const shown = others.slice(0, 5).join(', ') + (others.length > 5 ? ', …' : '')
  throw new Error(
    `${dataDir} is not empty (it has ${shown}): a backup is restored into an empty data folder, so move this one away after \`computer down\`, or set COMPUTER_DATA to another`,
  )
}

export function markUnfinished(dataDir: string): Promise<void> {
  return replaceFile(markPath(dataDir), '', { isDurable: true })
}

export function markFinished(dataDir: string): Promise<void> {
  return rm(markPath(dataDir))
}

/** Throws if a restore into the folder broke off. */
export function requireWholeRestore(dataDir: string): void {
  if (existsSync(markPath(dataDir))) throw new Error(describeMark(dataDir))
}

function markPath(dataDir: string): string {
  return join(dataDir, 'restore-is-unfinished')
}

function describeMark(dataDir: string): string {
  return `a restore into ${dataDir} broke off: run \`computer down\`, remove the folder (and empty the database, if it is one of DATABASE_URL), and restore again`
}
