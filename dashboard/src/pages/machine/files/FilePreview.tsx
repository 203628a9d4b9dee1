import type { DirectoryEntry } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { download, previewQuery } from '../../../api/files.ts'
import type { Preview } from '../../../api/file-preview.ts'
import { formatBytes, formatDateTime } from '../../../format.ts'
import { Button } from '../../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../../ui/Dialog.tsx'
import { Download } from '../../../ui/icons.ts'
import { QueryView } from '../../../ui/QueryView.tsx'
import { useObjectUrl } from '../../../ui/use-object-url.ts'
import { visibleName } from './paths.ts'

/** What a file holds, as text or picture. Nothing of it runs. */
export function FilePreview({
  machineId,
  entry,
  onClose,
}: {
  readonly machineId: string
  readonly entry: DirectoryEntry
  readonly onClose: () => void
}) {
  const { name, path, type, size, owner, mode, modifiedAt } = entry
  const facts = [
    ...(type === 'file' ? [formatBytes(size)] : []),
    `changed ${formatDateTime(modifiedAt)}`,
    visibleName(owner),
    mode,
  ]
  return (
    <Dialog
      open
      onOpenChange={onClose}
      wide
      title={visibleName(name)}
      description={<span className="text-[13px]">{facts.join(' · ')}</span>}
    >
      {path === null ? (
        <p>Its name is not UTF-8, so only a command in the machine can reach it.</p>
      ) : (
        <>
          <Content machineId={machineId} path={path} entry={entry} />
          {type !== 'other' && (
            <DialogButtons>
              <Button icon={<Download aria-hidden />} onClick={() => download(machineId, path)}>
                Download
              </Button>
            </DialogButtons>
          )}
        </>
      )}
    </Dialog>
  )
}

function Content({
  machineId,
  path,
  entry: { name, modifiedAt },
}: {
  readonly machineId: string
  readonly path: string
  readonly entry: DirectoryEntry
}) {
  const query = useQuery(previewQuery(machineId, path, modifiedAt))
  return <QueryView query={query}>{(preview) => <Shown preview={preview} name={name} />}</QueryView>
}

function Shown({ preview, name }: { readonly preview: Preview; readonly name: string }) {
  if (preview.kind === 'none')
    return <p className="py-6 text-center text-muted">{preview.reason}</p>
  if (preview.kind === 'picture') return <Picture blob={preview.blob} name={name} />
  if (preview.text === '') return <p className="py-6 text-center text-muted">This file is empty.</p>
  return (
    <>
      <pre
        tabIndex={0}
        role="region"
        aria-label="Text of the file"
        className="max-h-[55vh] overflow-auto rounded-lg border border-line bg-sunken p-3 text-[13px] leading-5 [overflow-wrap:anywhere] whitespace-pre-wrap [unicode-bidi:plaintext]"
      >
        {preview.text}
      </pre>
      {!preview.isWhole && (
        <p className="mt-2 text-muted">
          This is the beginning of the file. Download it to read the rest.
        </p>
      )}
    </>
  )
}

function Picture({ blob, name }: { readonly blob: Blob; readonly name: string }) {
  const url = useObjectUrl(blob)
  const [isBroken, setBroken] = useState(false)
  if (isBroken)
    return <p className="py-6 text-center text-muted">The browser cannot show this picture.</p>
  return (
    <div className="flex min-h-24 justify-center rounded-lg border border-line bg-sunken p-2">
      {url && (
        <img
          src={url}
          alt={visibleName(name)}
          onError={() => setBroken(true)}
          className="max-h-[55vh] max-w-full object-contain"
        />
      )}
    </div>
  )
}
