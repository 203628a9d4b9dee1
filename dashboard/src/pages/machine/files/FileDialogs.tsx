import type { DirectoryEntry } from '@computer/sdk'
import { createFolder, deleteEntry } from '../../../api/files.ts'
import { formatCount } from '../../../format.ts'
import { Confirm } from '../../../ui/Confirm.tsx'
import { FilePreview } from './FilePreview.tsx'
import { MoveEntry } from './MoveEntry.tsx'
import { NameForm } from './NameForm.tsx'
import { joinPath, nameFault, visibleName } from './paths.ts'

/** What is asked, or shown, about the open folder. */
export type Asked =
  | { readonly what: 'preview' | 'rename' | 'move' | 'delete'; readonly entry: DirectoryEntry }
  /** A new folder, beside entries of these names. */
  | { readonly what: 'folder'; readonly taken: ReadonlySet<string> }
  | {
      readonly what: 'replace'
      readonly names: readonly string[]
      readonly onConfirm: () => void
    }

type Props = {
  readonly machineId: string
  readonly directory: string
  readonly asked: Asked
  readonly onClose: () => void
  /** The row of this name is to be shown. */
  readonly onShow: (name: string) => void
}

export function FileDialogs({ machineId, directory, asked, onClose, onShow }: Props) {
  switch (asked.what) {
    case 'preview':
      return <FilePreview machineId={machineId} entry={asked.entry} onClose={onClose} />
    case 'rename':
    case 'move':
      return (
        <MoveEntry
          machineId={machineId}
          directory={directory}
          entry={asked.entry}
          what={asked.what}
          onClose={onClose}
          onShow={onShow}
        />
      )
    case 'folder':
      return (
        <NameForm
          title="New folder"
          action="Create"
          faultOf={(name) =>
            nameFault(name) ??
            (asked.taken.has(name) ? 'There is an entry of this name already.' : undefined)
          }
          onClose={onClose}
          onSubmit={async (name) => {
            onShow(name)
            await createFolder(machineId, joinPath(directory, name))
          }}
        />
      )
    case 'delete':
      return <DeleteEntry machineId={machineId} entry={asked.entry} onClose={onClose} />
    case 'replace':
      return <Replace names={asked.names} onConfirm={asked.onConfirm} onClose={onClose} />
  }
}

function DeleteEntry({
  machineId,
  entry: { name, path, type },
  onClose,
}: {
  readonly machineId: string
  readonly entry: DirectoryEntry
  readonly onClose: () => void
}) {
  return (
    <Confirm
      open
      onOpenChange={onClose}
      title={`Delete ${type === 'directory' ? 'this folder' : type === 'symlink' ? 'this link' : 'this file'}?`}
      action="Delete"
      onConfirm={async () => path !== null && deleteEntry(machineId, { path, type })}
    >
      <p>
        <bdi className="font-medium break-all text-fg">{visibleName(name)}</bdi>
        {type === 'directory' && ' and everything in it'}
        {type === 'symlink' && ', but not what it leads to,'} is deleted at once. Only an earlier
        snapshot of the machine still has it.
      </p>
    </Confirm>
  )
}

const maxNames = 8

function Replace({
  names,
  onConfirm,
  onClose,
}: {
  readonly names: readonly string[]
  readonly onConfirm: () => void
  readonly onClose: () => void
}) {
  return (
    <Confirm
      open
      onOpenChange={onClose}
      title="Replace what is there?"
      action="Replace"
      onConfirm={async () => onConfirm()}
    >
      <p>The folder has these already. Files of the same name are replaced, others stay.</p>
      <ul className="list-disc pl-5">
        {names.slice(0, maxNames).map((name) => (
          <li key={name} className="break-all text-fg">
            <bdi>{visibleName(name)}</bdi>
          </li>
        ))}
        {names.length > maxNames && <li>and {formatCount(names.length - maxNames, 'other')}</li>}
      </ul>
    </Confirm>
  )
}
