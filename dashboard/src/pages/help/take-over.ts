import type { HelpRequest } from '@computer/sdk'
import { useNavigate } from '@tanstack/react-router'

/**
 * The request that a screen is to take once it is shown, by machine. It is not part of the address: a link or a reload
 * must never take a machine from somebody.
 */
const wanted = new Map<string, HelpRequest>()

/** Leads to the screen of the machine, which takes the request. */
export function useTakeOver(): (help: HelpRequest) => void {
  const navigate = useNavigate()
  return (help) => {
    wanted.set(help.machineId, help)
    void navigate({ to: '/m/$machineId', params: { machineId: help.machineId } })
  }
}

/** The request to take on the screen of this machine, once. */
export function collectWanted(machineId: string): HelpRequest | undefined {
  const help = wanted.get(machineId)
  wanted.delete(machineId)
  return help
}
