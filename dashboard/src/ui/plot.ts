import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

export type Plot = {
  readonly setData: (data: uPlot.AlignedData) => void
  readonly end: () => void
}

export type Colour = () => string

/** What a chart draws, given how to find the colours of the theme. */
export type PlotContent = (colourOf: (element: HTMLElement) => Colour) => Pick<
  uPlot.Options,
  'series' | 'scales'
> & {
  /** The texts of the ticks of the horizontal and the vertical axis. */
  readonly ticks: readonly [Ticks, Ticks]
  /** The distances of ticks to choose from, of the horizontal axis. */
  readonly steps?: number[]
}
type Ticks = (values: readonly number[]) => string[]

/** Draws a chart into an element, whose width it follows. */
export function startPlot(element: HTMLElement, height: number, content: PlotContent): Plot {
  // The canvas takes the colours that the theme gives to texts, at each drawing.
  const colourOf = (of: HTMLElement) => () => getComputedStyle(of).color
  const grid = { stroke: () => getComputedStyle(element).borderTopColor, width: 1 }
  const { series, scales, ticks, steps } = content(colourOf)
  const axis = (texts: Ticks) => ({
    stroke: colourOf(element),
    grid,
    ticks: { show: false },
    font: '11px Geist, sans-serif',
    values: (_: uPlot, values: number[]) => texts(values),
  })
  const plot = new uPlot(
    {
      width: element.clientWidth,
      height,
      legend: { show: false },
      cursor: { show: false },
      axes: [
        // The widest text is a date with its hour.
        { ...axis(ticks[0]), size: 28, space: 84, ...(steps && { incrs: steps }) },
        { ...axis(ticks[1]), size: sizeOf },
      ],
      series,
      ...(scales && { scales }),
    },
    series.map(() => []) as unknown as uPlot.AlignedData,
    element,
  )
  const resizing = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
  resizing.observe(element)
  return {
    setData: (data) => plot.setData(data),
    end() {
      resizing.disconnect()
      plot.destroy()
    },
  }
}

/** The width of the vertical axis, for its longest text. */
function sizeOf(_: uPlot, texts: string[] | null): number {
  const longest = Math.max(0, ...(texts ?? []).map((text) => text.length))
  return 14 + longest * 6.5
}
