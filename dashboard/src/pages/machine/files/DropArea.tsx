import { useEffect, useEffectEvent, useState } from 'react'
import { Upload } from '../../../ui/icons.ts'
import { notifyError } from '../../../ui/notify.ts'
import { readDrop } from './dropped-files.ts'
import type { NewFile } from './FileBrowser.tsx'
import { visibleName } from './paths.ts'

/** Takes files that are dropped anywhere on the page, and says so while they are held above it. */
export function DropArea({
  path,
  denied,
  onFiles,
}: {
  readonly path: string
  readonly denied: string | undefined
  readonly onFiles: (files: readonly NewFile[]) => void
}) {
  const [isOver, setOver] = useState(false)
  const take = useEffectEvent((data: DataTransfer) => {
    if (denied) return notifyError('Nothing was uploaded', new Error(denied))
    readDrop(data).then(onFiles, (error: unknown) => notifyError('Nothing was uploaded', error))
  })
  useEffect(() => {
    const listening = new AbortController()
    const { signal } = listening
    const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files')
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      event.dataTransfer!.dropEffect = 'copy'
      setOver(true)
    }
    const leave = ({ relatedTarget }: DragEvent) => {
      if (relatedTarget === null) setOver(false)
    }
    const drop = (event: DragEvent) => {
      setOver(false)
      if (!hasFiles(event)) return
      // Else the browser would open the file in place of the page.
      event.preventDefault()
      take(event.dataTransfer!)
    }
    document.addEventListener('dragover', over, { signal })
    document.addEventListener('dragleave', leave, { signal })
    document.addEventListener('drop', drop, { signal })
    return () => listening.abort()
  }, [])
  if (!isOver) return null
  return (
    <div className="pointer-events-none fixed inset-3 z-50 flex flex-col items-center justify-center gap-2 rounded-xl border-2 border-dashed border-accent-fg bg-page/95 p-4 text-center">
      <Upload className="size-6 text-accent-fg" aria-hidden />
      <p className="max-w-full text-base font-medium">
        {denied ?? (
          <>
            Drop to upload into <bdi className="break-all">{visibleName(path)}</bdi>
          </>
        )}
      </p>
    </div>
  )
}
