import type { DirectoryEntry } from '@computer/sdk'
import { Link } from '@tanstack/react-router'
import { formatBytes } from '../../../format.ts'
import { cx } from '../../../ui/cx.ts'
import { File, FileSymlink, Folder } from '../../../ui/icons.ts'
import { Time } from '../../../ui/Time.tsx'
import type { Asked } from './FileDialogs.tsx'
import { FileMenu } from './FileMenu.tsx'
import { visibleName } from './paths.ts'

export const rowHeight = 40

/** A phone has room for the name, the size and the menu. */
export const widths = {
  Name: '',
  Size: 'w-24 text-right',
  Changed: 'w-36 hidden sm:table-cell',
  Owner: 'w-36 hidden lg:table-cell',
  Actions: 'w-12',
} as const

export function FileRow({
  machineId,
  entry,
  index,
  onEnter,
  onOpen,
  onAsk,
}: {
  readonly machineId: string
  readonly entry: DirectoryEntry
  readonly index: number
  readonly onEnter: () => void
  readonly onOpen: (entry: DirectoryEntry) => void
  readonly onAsk: (asked: Asked) => void
}) {
  const { type, size, modifiedAt, owner, mode } = entry
  return (
    <tr
      aria-rowindex={index + 2}
      style={{ height: rowHeight }}
      className="border-b border-line last:border-0 hover:bg-hover/60"
    >
      <td className="px-3">
        <Name machineId={machineId} entry={entry} index={index} onEnter={onEnter} onOpen={onOpen} />
      </td>
      <td className={cx('px-3 whitespace-nowrap text-muted', widths.Size)}>
        {type === 'file' && formatBytes(size)}
      </td>
      <td className={cx('truncate px-3 text-muted', widths.Changed)}>
        <Time iso={modifiedAt} />
      </td>
      <td className={cx('truncate px-3 text-muted', widths.Owner)}>
        <bdi>{visibleName(owner)}</bdi> <code className="text-xs">{mode}</code>
      </td>
      <td className="px-1 text-right">
        <FileMenu machineId={machineId} entry={entry} onOpen={onOpen} onAsk={onAsk} />
      </td>
    </tr>
  )
}

/** A folder is a link with an address; all else opens a preview. */
function Name({
  machineId,
  entry,
  index,
  onEnter,
  onOpen,
}: {
  readonly machineId: string
  readonly entry: DirectoryEntry
  readonly index: number
  readonly onEnter: () => void
  readonly onOpen: (entry: DirectoryEntry) => void
}) {
  const { type, path, target } = entry
  const name = visibleName(entry.name)
  const look = 'flex w-full min-w-0 items-center gap-2 text-left hover:underline'
  const content = (
    <>
      <TypeIcon type={type} />
      <bdi className="truncate" title={name}>
        {name}
      </bdi>
      {target !== null && (
        <span className="truncate text-xs text-muted">
          → <bdi>{visibleName(target)}</bdi>
        </span>
      )}
    </>
  )
  if (type === 'directory' && path !== null)
    return (
      <Link
        to="/m/$machineId/files"
        params={{ machineId }}
        search={{ path }}
        preload={false}
        data-row={index}
        onClick={onEnter}
        className={cx(look, 'font-medium')}
      >
        {content}
      </Link>
    )
  return (
    <button type="button" data-row={index} onClick={() => onOpen(entry)} className={look}>
      {content}
    </button>
  )
}

function TypeIcon({ type }: { readonly type: DirectoryEntry['type'] }) {
  const look = 'size-4 shrink-0 text-muted'
  if (type === 'directory')
    return <Folder className={cx(look, 'text-accent-fg!')} role="img" aria-label="Folder" />
  if (type === 'symlink') return <FileSymlink className={look} role="img" aria-label="Link" />
  return <File className={look} aria-hidden />
}
