import { Button } from '../../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../../ui/Dialog.tsx'
import { webAddress } from './sanitize.ts'

/** Shows where a link of the machine leads before it is followed: its text may say something else. */
export function LinkDialog({
  address,
  onClose,
}: {
  readonly address: string
  readonly onClose: () => void
}) {
  const url = webAddress(address)
  const open = () => {
    window.open(url!.href, '_blank', 'noopener,noreferrer')
    onClose()
  }
  return (
    <Dialog open onOpenChange={onClose} title="Open this address?">
      <p className="max-h-60 overflow-y-auto rounded-md bg-sunken p-2 font-mono text-[13px] break-all">
        {url ? url.href : address.slice(0, 2_000)}
      </p>
      <p className="mt-2 text-muted">
        {url
          ? `A program in the machine names it. It leads to ${url.host}.`
          : 'It does not begin with http or https, so the dashboard does not open it.'}
      </p>
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look="primary"
          disabledReason={!url && 'Only addresses with http or https are opened.'}
          onClick={open}
        >
          Open in a new tab
        </Button>
      </DialogButtons>
    </Dialog>
  )
}
