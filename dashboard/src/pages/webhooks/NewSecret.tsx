import { ShownOnce } from '../../ui/ShownOnce.tsx'
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
    <ShownOnce
      secret={secret}
      label="signing secret"
      use="Verify messages with it"
      lines={receiverLines}
      linesLabel="lines for a receiver"
      onClose={onClose}
    >
      <p className="mt-1 text-xs text-muted">
        Set <code>WEBHOOK_SECRET</code> to the secret. Any library for Standard Webhooks verifies
        the messages; this one is installed with <code>npm install standardwebhooks</code>.
      </p>
    </ShownOnce>
  )
}
