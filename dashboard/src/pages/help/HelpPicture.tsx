import type { HelpRequest } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useShownMachine } from '../../api/live.ts'
import { machineQuery } from '../../api/machines.ts'
import { Lock, Monitor } from '../../ui/icons.ts'
import { Thumbnail } from '../machines/Thumbnail.tsx'

/** The machine's screen as it is now, unless a person has it in private. */
export function HelpPicture({ help }: { readonly help: HelpRequest }) {
  const { machineId, state } = help
  useShownMachine(machineId)
  const isHidden = state === 'active' && help.private
  const { data: machine } = useQuery(machineQuery(machineId))
  if (machine && !isHidden) return <Thumbnail machine={machine} />
  return (
    <div className="flex aspect-[16/10] flex-col items-center justify-center gap-1 bg-sunken text-xs text-muted">
      {isHidden ? (
        <>
          <Lock className="size-5" aria-hidden />
          The screen is private
        </>
      ) : (
        <Monitor className="size-5" aria-hidden />
      )}
    </div>
  )
}
