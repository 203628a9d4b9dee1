import type { HelpRequest } from '@computer/sdk'
import { HelpPersonName } from './HelpPersonName.tsx'

/** How a request has ended, in a sentence. */
export function HelpEnd({ help: { state, answer } }: { readonly help: HelpRequest }) {
  if (answer)
    return (
      <>
        <HelpPersonName person={answer.by} />
        {answer.outcome === 'done' ? ' handed it back: done' : ' could not do it'}
        {answer.choice !== null && (
          <>
            , and chose <bdi className="font-medium wrap-anywhere">{answer.choice}</bdi>
          </>
        )}
        .
      </>
    )
  if (state === 'cancelled')
    return 'The request was cancelled, because the help is no longer needed.'
  return 'The request expired before somebody answered.'
}
