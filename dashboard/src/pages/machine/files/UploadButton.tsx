import { useRef, type ChangeEvent } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { ChevronDown, File, Folder, Upload } from '../../../ui/icons.ts'
import { Menu, MenuItem } from '../../../ui/Menu.tsx'
import type { NewFile } from './FileBrowser.tsx'

/** Chooses files, or a whole folder, to upload. */
export function UploadButton({
  disabledReason,
  onFiles,
}: {
  readonly disabledReason: string | undefined
  readonly onFiles: (files: readonly NewFile[]) => void
}) {
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = (event: ChangeEvent<HTMLInputElement>) => {
    const chosen = [...(event.target.files ?? [])]
    // The same files can be chosen again.
    event.target.value = ''
    onFiles(chosen.map((file) => ({ file, relativePath: file.webkitRelativePath || file.name })))
  }
  return (
    <>
      <Menu
        trigger={
          <Button look="primary" icon={<Upload aria-hidden />}>
            Upload
            <ChevronDown aria-hidden />
          </Button>
        }
      >
        <MenuItem
          icon={<File aria-hidden />}
          disabledReason={disabledReason}
          onSelect={() => files.current?.click()}
        >
          Files
        </MenuItem>
        <MenuItem
          icon={<Folder aria-hidden />}
          disabledReason={disabledReason}
          onSelect={() => folder.current?.click()}
        >
          A folder
        </MenuItem>
      </Menu>
      <input ref={files} type="file" multiple hidden onChange={take} />
      <input
        ref={(input) => {
          folder.current = input
          if (input) input.webkitdirectory = true
        }}
        type="file"
        hidden
        onChange={take}
      />
    </>
  )
}
