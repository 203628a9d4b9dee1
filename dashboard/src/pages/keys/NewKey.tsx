import { Button } from '../../ui/Button.tsx'
import { Code } from '../../ui/Code.tsx'
import { DialogButtons } from '../../ui/Dialog.tsx'

/** The secret of a key that has just been made. It is not shown again. */
export function NewKey({
  secret,
  onClose,
}: {
  readonly secret: string
  readonly onClose: () => void
}) {
  return (
    <div className="space-y-4">
      <Code text={secret} label="API key" />
      <div>
        <p className="mb-1 text-[13px] font-medium">Try it in a shell</p>
        <Code text={shellLines(secret)} label="lines for a shell" />
      </div>
      <DialogButtons>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogButtons>
    </div>
  )
}

function shellLines(secret: string): string {
  return `export COMPUTER_API_KEY=${secret}
curl -sS ${location.origin}/v1/machines -H "authorization: Bearer $COMPUTER_API_KEY"`
}
