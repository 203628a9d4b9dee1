import { ApiError, type DirectoryEntry } from '@computer/sdk'
import { useState } from 'react'
import { moveEntry } from '../../../api/files.ts'
import { Checkbox } from '../../../ui/Checkbox.tsx'
import { notify } from '../../../ui/notify.ts'
import { NameForm } from './NameForm.tsx'
import { joinPath, nameFault, normalizePath, visibleName } from './paths.ts'

/** Gives an entry another name, or another folder. Replaces what is there only when told to. */
export function MoveEntry({
  machineId,
  directory,
  entry: { name, path },
  what,
  onClose,
  onShow,
}: {
  readonly machineId: string
  readonly directory: string
  readonly entry: DirectoryEntry
  readonly what: 'rename' | 'move'
  readonly onClose: () => void
  readonly onShow: (name: string) => void
}) {
  const [replaces, setReplaces] = useState(false)
  const shown = visibleName(name)
  const isMove = what === 'move'
  const submit = async (text: string) => {
    const to = joinPath(isMove ? normalizePath(text) : directory, isMove ? name : text)
    if (!isMove) onShow(text)
    await moveEntry(machineId, path!, to, replaces)
    if (isMove) notify(`${shown} was moved`, visibleName(to))
  }
  const faultOf = (text: string) => {
    if (!isMove) return text === name ? 'Type another name first.' : nameFault(text)
    if (text === '') return 'Type the path of a folder first.'
    return normalizePath(text) === directory ? 'Type the path of another folder first.' : undefined
  }
  return (
    <NameForm
      title={isMove ? 'Move' : 'Rename'}
      description={<bdi className="break-all">{shown}</bdi>}
      label={isMove ? 'Into the folder' : 'New name'}
      action={isMove ? 'Move' : 'Rename'}
      initial={isMove ? directory : name}
      faultOf={faultOf}
      onSubmit={submit}
      onClose={onClose}
      more={(error) =>
        ((error instanceof ApiError && error.code === 'conflict') || replaces) && (
          <Checkbox label="Replace what is there" checked={replaces} onChange={setReplaces} />
        )
      }
    />
  )
}
