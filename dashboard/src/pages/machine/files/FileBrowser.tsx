import type { DirectoryEntry, MachineRecord } from '@computer/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useMemo, useRef, useState } from 'react'
import { directoryQuery, isDirectory } from '../../../api/files.ts'
import { useDenial } from '../../../api/session.ts'
import { startUploads } from '../../../api/uploads.ts'
import { Button } from '../../../ui/Button.tsx'
import { FolderPlus, RefreshCw } from '../../../ui/icons.ts'
import { QueryView } from '../../../ui/QueryView.tsx'
import { Breadcrumb } from './Breadcrumb.tsx'
import { DropArea } from './DropArea.tsx'
import { EmptyFolder } from './EmptyFolder.tsx'
import type { Asked } from './FileDialogs.tsx'
import { useFileKeys } from './file-keys.ts'
import { FileTable } from './FileTable.tsx'
import { joinPath, nameOf, normalizePath, parentOf } from './paths.ts'
import { sortEntries } from './sort-entries.ts'
import { UploadButton } from './UploadButton.tsx'

const FileDialogs = lazy(async () => ({
  default: (await import('./FileDialogs.tsx')).FileDialogs,
}))

/** A file to upload, with its path below the folder it is put into. */
export type NewFile = { readonly file: File; readonly relativePath: string }

/** One folder of a running machine. Its path is in the address. */
export function FileBrowser({ machine }: { readonly machine: MachineRecord }) {
  const search = useSearch({ from: '/app/m/$machineId/files' })
  const navigate = useNavigate()
  const path = normalizePath(search.path)
  const query = useInfiniteQuery(directoryQuery(machine.id, path, true))
  const entries = useMemo(
    () => (query.data?.pages ?? []).flatMap((page) => sortEntries(page.entries)),
    [query.data],
  )
  const taken = useMemo(() => new Set(entries.map(({ name }) => name)), [entries])
  const mayNot = useDenial('machines:control')
  // Until the names that are taken are known, an upload could replace a file unasked.
  const denied = mayNot ?? (query.data ? undefined : 'The folder is not shown yet.')
  const [asked, setAsked] = useState<Asked>()
  /** The name of the row that gets the focus when it is shown; empty means the first. */
  const wanted = useRef<string>(undefined)

  const open = (to: string, focus = '') => {
    wanted.current = focus
    void navigate({
      to: '/m/$machineId/files',
      params: { machineId: machine.id },
      search: { path: to },
    })
  }
  useFileKeys(() => path !== '/' && open(parentOf(path), nameOf(path)))
  const openEntry = async (entry: DirectoryEntry) => {
    const linkPath = entry.type === 'symlink' ? entry.path : null
    if (linkPath !== null && (await isDirectory(machine.id, linkPath))) open(linkPath)
    else setAsked({ what: 'preview', entry })
  }
  const add = (files: readonly NewFile[]) => {
    if (files.length === 0) return
    const tops = new Set(files.map(({ relativePath }) => relativePath.split('/')[0]!))
    const replaced = [...tops].filter((name) => taken.has(name))
    const start = () =>
      startUploads(
        machine.id,
        files.map(({ file, relativePath }) => ({ file, path: joinPath(path, relativePath) })),
      )
    if (replaced.length === 0) start()
    else setAsked({ what: 'replace', names: replaced, onConfirm: start })
  }
  return (
    <div className="flex flex-1 flex-col gap-3 px-4 py-4 sm:px-6">
      <div className="flex flex-wrap items-center gap-2">
        <Breadcrumb
          machineId={machine.id}
          path={path}
          onOpen={(child) => (wanted.current = child)}
        />
        <div className="flex items-center gap-2">
          <Button
            look="ghost"
            label="Refresh"
            icon={<RefreshCw aria-hidden />}
            busy={query.isRefetching}
            onClick={() => void query.refetch()}
          />
          <Button
            icon={<FolderPlus aria-hidden />}
            disabledReason={denied}
            onClick={() => setAsked({ what: 'folder', taken })}
          >
            New folder
          </Button>
          <UploadButton disabledReason={denied} onFiles={add} />
        </div>
      </div>
      <QueryView query={query}>
        {() =>
          entries.length === 0 ? (
            <EmptyFolder machineName={machine.name} path={path} />
          ) : (
            <FileTable
              key={path}
              machineId={machine.id}
              entries={entries}
              hasMore={query.hasNextPage}
              onEnd={() => {
                if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage()
              }}
              wanted={wanted}
              onOpen={(entry) => void openEntry(entry)}
              onAsk={setAsked}
            />
          )
        }
      </QueryView>
      <DropArea path={path} denied={denied} onFiles={add} />
      <Suspense>
        {asked && (
          <FileDialogs
            machineId={machine.id}
            directory={path}
            asked={asked}
            onClose={() => setAsked(undefined)}
            onShow={(name) => (wanted.current = name)}
          />
        )}
      </Suspense>
    </div>
  )
}
