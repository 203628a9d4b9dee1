import type { DirectoryEntry } from '@computer/sdk'
import { download } from '../../../api/files.ts'
import { useDenial } from '../../../api/session.ts'
import { Button } from '../../../ui/Button.tsx'
import { copyText } from '../../../ui/CopyButton.tsx'
import { Copy, Download, Ellipsis, Folder, FolderUp, Pencil, Trash2 } from '../../../ui/icons.ts'
import { Menu, MenuItem, MenuSeparator } from '../../../ui/Menu.tsx'
import { notify } from '../../../ui/notify.ts'
import type { Asked } from './FileDialogs.tsx'
import { visibleName } from './paths.ts'

/** What can be done with one entry of a folder. */
export function FileMenu({
  machineId,
  entry,
  onOpen,
  onAsk,
}: {
  readonly machineId: string
  readonly entry: DirectoryEntry
  readonly onOpen: (entry: DirectoryEntry) => void
  readonly onAsk: (asked: Asked) => void
}) {
  const { name, path, type } = entry
  const denied = useDenial('machines:control')
  const unreachable =
    path === null && 'Its name is not UTF-8, so only a command in the machine can reach it.'
  const copyPath = async () => {
    if (path !== null && (await copyText(path))) notify('The path is in the clipboard')
  }
  return (
    <Menu
      trigger={
        <Button
          look="ghost"
          size="small"
          label={`Actions of ${visibleName(name)}`}
          icon={<Ellipsis />}
        />
      }
    >
      {type !== 'directory' && (
        <>
          <MenuItem
            icon={<Folder aria-hidden />}
            disabledReason={unreachable}
            onSelect={() => onOpen(entry)}
          >
            Open
          </MenuItem>
          <MenuItem
            icon={<Download aria-hidden />}
            disabledReason={
              unreachable || (type === 'other' && 'It is a device, a pipe or a socket.')
            }
            onSelect={() => path !== null && download(machineId, path)}
          >
            Download
          </MenuItem>
        </>
      )}
      <MenuItem
        icon={<Copy aria-hidden />}
        disabledReason={unreachable}
        onSelect={() => void copyPath()}
      >
        Copy its path
      </MenuItem>
      <MenuSeparator />
      <MenuItem
        icon={<Pencil aria-hidden />}
        disabledReason={unreachable || denied}
        onSelect={() => onAsk({ what: 'rename', entry })}
      >
        Rename
      </MenuItem>
      <MenuItem
        icon={<FolderUp aria-hidden />}
        disabledReason={unreachable || denied}
        onSelect={() => onAsk({ what: 'move', entry })}
      >
        Move
      </MenuItem>
      <MenuSeparator />
      <MenuItem
        icon={<Trash2 aria-hidden />}
        danger
        disabledReason={unreachable || denied}
        onSelect={() => onAsk({ what: 'delete', entry })}
      >
        Delete
      </MenuItem>
    </Menu>
  )
}
