import type { Machine } from '@computer/sdk'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { initialState, startScreen, type LiveScreen, type ScreenState } from './live-screen.ts'

/** Shows the screen in the element of `host` for as long as the component is there. */
export function useScreen(machine: Machine, onLeave: () => void) {
  const host = useRef<HTMLDivElement>(null)
  const [state, setState] = useState<ScreenState>(initialState)
  const [screen, setScreen] = useState<LiveScreen>()
  const leave = useEffectEvent(onLeave)
  useEffect(() => {
    const started = startScreen(host.current!, machine, {
      onChange: (change) => setState((old) => ({ ...old, ...change })),
      onLeave: () => leave(),
    })
    setScreen(started)
    return () => {
      started.end()
      setScreen(undefined)
      setState(initialState)
    }
  }, [machine])
  return { host, state, screen, dismissCopied: () => setState((old) => ({ ...old, copied: null })) }
}
