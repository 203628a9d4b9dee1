import { Button } from '../../ui/Button.tsx'
import { Code } from '../../ui/Code.tsx'
import { DialogButtons } from '../../ui/Dialog.tsx'
import { receiverLines } from './receiver-lines.ts'

/** A signing secret that has just been made. It is not shown again. */
export function NewSecret({
  secret,
  onClose,
}: {
  readonly secret: string
  readonly onClose: () => void
}) {
  return (
    <div className="space-y-4">
      <Code text={secret} label="signing secret" />
      <div>
        <p className="mb-1 text-[13px] font-medium">Verify messages with it</p>
        <Code text={receiverLines} label="lines for a receiver" />
        <p className="mt-1 text-xs text-muted">
          Set <code>WEBHOOK_SECRET</code> to the secret. Any library for Standard Webhooks verifies
          the messages; this one is installed with <code>npm install standardwebhooks</code>.
        </p>
      </div>
      <DialogButtons>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogButtons>
    </div>
  )
}
