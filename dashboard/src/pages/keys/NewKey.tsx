import { ShownOnce } from '../../ui/ShownOnce.tsx'

/** The secret of a key that has just been made. It is not shown again. */
export function NewKey({
  secret,
  onClose,
}: {
  readonly secret: string
  readonly onClose: () => void
}) {
  return (
    <ShownOnce
      secret={secret}
      label="API key"
      use="Try it in a shell"
      lines={shellLines(secret)}
      linesLabel="lines for a shell"
      onClose={onClose}
    />
  )
}

function shellLines(secret: string): string {
  return `export COMPUTER_API_KEY=${secret}
curl -sS ${location.origin}/v1/machines -H "authorization: Bearer $COMPUTER_API_KEY"`
}
