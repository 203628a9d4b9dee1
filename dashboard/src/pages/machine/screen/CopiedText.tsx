import { useState } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { copyText } from '../../../ui/CopyButton.tsx'
import { ClipboardCopy, X } from '../../../ui/icons.ts'

/** Text that was copied in the machine, where the browser lets only a press of the person copy it here. */
export function CopiedText({
  text,
  onClose,
}: {
  readonly text: string
  readonly onClose: () => void
}) {
  const [hasFailed, setFailed] = useState(false)
  const copy = async () => {
    if (await copyText(text)) onClose()
    else setFailed(true)
  }
  return (
    <div className="absolute right-2 bottom-2 flex max-w-[calc(100%-1rem)] items-center gap-2 rounded-lg border border-line bg-raised py-1.5 pr-1.5 pl-3 shadow-pop">
      <p role="status" className="min-w-0 truncate">
        {hasFailed ? 'The browser refused to copy: ' : 'Copied in the machine: '}
        <bdi className="text-muted">{text.slice(0, 60)}</bdi>
      </p>
      <Button size="small" icon={<ClipboardCopy aria-hidden />} onClick={() => void copy()}>
        Copy
      </Button>
      <Button look="ghost" size="small" label="Dismiss" icon={<X />} onClick={onClose} />
    </div>
  )
}
