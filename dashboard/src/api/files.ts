import type { DirectoryEntry, Page } from '@computer/sdk'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { machineHandle } from './machines.ts'
import { readPreview } from './file-preview.ts'
import { queryClient } from './query-client.ts'

/** The home of the machine's user, where relative paths begin. */
export const homePath = '/home/agent'

/** The largest page that the API gives. */
const pageSize = 100
/** So many are read before they are shown, so that most directories are sorted as a whole. */
const pagesAtOnce = 10

/** A directory of a running machine. Each page is a part of it, in the order of the server. */
export function directoryQuery(machineId: string, path: string, isRunning: boolean) {
  return infiniteQueryOptions({
    queryKey: ['machine', machineId, 'files', path] as const,
    queryFn: async ({ signal, pageParam }) => {
      const { files } = await machineHandle(machineId)
      const entries: DirectoryEntry[] = []
      let cursor = pageParam
      for (let pages = 0; pages < pagesAtOnce; pages++) {
        const page: Page<DirectoryEntry> = await files.list(path, {
          limit: pageSize,
          cursor,
          signal,
        })
        entries.push(...page.data)
        cursor = page.nextCursor ?? undefined
        if (cursor === undefined) break
      }
      return { entries, nextCursor: cursor }
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    enabled: isRunning,
    // No event tells that a file has changed.
    staleTime: 0,
  })
}

/** The beginning of a file, or a picture. A file that has changed since is another preview. */
export function previewQuery(machineId: string, path: string, modifiedAt: string) {
  return queryOptions({
    queryKey: ['machine', machineId, 'preview', path, modifiedAt] as const,
    queryFn: async ({ signal }) => {
      const { files } = await machineHandle(machineId)
      return readPreview(await files.stream(path, { signal }))
    },
    // It may be megabytes, so events of the machine do not have it read again.
    staleTime: 'static',
    gcTime: 30_000,
  })
}

/** Whether a path leads to a directory that can be listed, such as through a symlink. */
export async function isDirectory(machineId: string, path: string): Promise<boolean> {
  const { files } = await machineHandle(machineId)
  return files.list(path, { limit: 1 }).then(
    () => true,
    () => false,
  )
}

/** Moves a file, symlink or directory to a new path. Fails with `conflict` if that exists. */
export async function moveEntry(
  machineId: string,
  from: string,
  to: string,
  overwrite: boolean,
): Promise<void> {
  await (await machineHandle(machineId)).files.move(from, to, { overwrite })
  await refreshFiles(machineId)
}

export async function deleteEntry(
  machineId: string,
  { path, type }: { readonly path: string; readonly type: DirectoryEntry['type'] },
): Promise<void> {
  const { files } = await machineHandle(machineId)
  await files.delete(path, { recursive: type === 'directory' })
  await refreshFiles(machineId)
}

/**
 * The API makes a directory for the file that is written into it: the file is removed again. So the
 * directory has the owner that the files of its place have.
 */
export async function createFolder(machineId: string, path: string): Promise<void> {
  const { files } = await machineHandle(machineId)
  const placeholder = `${path}/.new-folder-${Math.random().toString(36).slice(2)}`
  await files.write(placeholder, '')
  await files.delete(placeholder)
  await refreshFiles(machineId)
}

export async function refreshFiles(machineId: string): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ['machine', machineId, 'files'] })
}

/** The route of the API that has the bytes of a file. */
export function contentUrl(machineId: string, query: Readonly<Record<string, string>>): string {
  const route = `/v1/machines/${encodeURIComponent(machineId)}/files/content`
  return `${route}?${new URLSearchParams(query)}`
}

/** The browser saves the file as it arrives, under its name, and never shows it. */
export function download(machineId: string, path: string): void {
  const link = document.createElement('a')
  link.href = contentUrl(machineId, { path, download: 'true' })
  // An answer that is an error fails the download instead of leaving the page.
  link.download = ''
  link.click()
}
