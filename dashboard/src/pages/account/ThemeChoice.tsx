import { useState } from 'react'
import { readTheme, setTheme, type Theme } from '../../theme.ts'
import { RadioCards } from '../../ui/RadioCards.tsx'

const themes: readonly { readonly value: Theme; readonly label: string }[] = [
  { value: 'system', label: 'Like the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

/** Applies at once, in this browser. */
export function ThemeChoice() {
  const [theme, setShown] = useState(readTheme)
  const choose = (next: Theme) => {
    setTheme(next)
    setShown(next)
  }
  return (
    <RadioCards
      label="Theme"
      hideLabel
      name="theme"
      value={theme}
      onChange={choose}
      choices={themes}
      layout="row"
    />
  )
}
