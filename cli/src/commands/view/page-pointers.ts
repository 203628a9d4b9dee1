/* The pointers of others on the page, and the page's own for them. Names are text of others. */

export const pointersFile = 'pointers.js'

export const pointersStyle = `
  #pointers { position: fixed; overflow: hidden; pointer-events: none; font: 12px system-ui, sans-serif }
  #pointers div { position: absolute; --fill: #4338ca; filter: drop-shadow(0 0 1px #fff) drop-shadow(0 0 1px #fff) }
  #pointers .agent { --fill: #17171a }
  #pointers div::before { content: ''; position: absolute; width: 12px; height: 17px; background: var(--fill);
    clip-path: polygon(0 0, 0 100%, 35% 70%, 100% 66%) }
  #pointers .clicked::after { content: ''; position: absolute; inset: -14px; width: 24px; height: 24px;
    border: 2px solid var(--fill); border-radius: 50% }
  #pointers bdi { position: absolute; left: 11px; top: 15px; max-width: 12em; padding: 1px 6px; border-radius: 4px;
    background: var(--fill); color: #fff; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
  #pointers .right bdi { left: auto; right: 3px }
  #pointers .low bdi { top: auto; bottom: 3px }`

export const pointersScript = `
const layer = document.getElementById('pointers')
const screen = document.getElementById('screen')
const findCanvas = () => screen.querySelector('canvas')

export function showPointers(pointers) {
  const canvas = findCanvas()
  layer.replaceChildren(...(canvas ? pointers.map((pointer) => draw(pointer, canvas)) : []))
  place()
}

/** Calls back with the pixel of the display under the mouse, and with null once it has left the picture. */
export function watchPointer(onPoint) {
  let isShown = false
  const point = (at) => {
    if (at || isShown) onPoint(at)
    isShown = at !== null
  }
  document.addEventListener('pointermove', (event) => point(pixelAt(findCanvas(), event)))
  document.documentElement.addEventListener('pointerleave', () => point(null))
}

function draw({ name, kind, at, clicked }, canvas) {
  const pointer = document.createElement('div')
  pointer.classList.add(kind)
  pointer.classList.toggle('clicked', clicked)
  pointer.classList.toggle('right', at.x * 3 > canvas.width * 2)
  pointer.classList.toggle('low', at.y * 10 > canvas.height * 9)
  pointer.style.left = 'calc(var(--scale) * ' + at.x + ')'
  pointer.style.top = 'calc(var(--scale) * ' + at.y + ')'
  const label = document.createElement('bdi')
  label.textContent = name
  pointer.append(label)
  return pointer
}

function place() {
  const canvas = findCanvas()
  if (!canvas) return
  const box = canvas.getBoundingClientRect()
  for (const side of ['left', 'top', 'width', 'height']) layer.style[side] = box[side] + 'px'
  layer.style.setProperty('--scale', box.width / canvas.width + 'px')
}

function pixelAt(canvas, { clientX, clientY }) {
  if (!canvas) return null
  const { left, top, width, height } = canvas.getBoundingClientRect()
  const x = Math.floor(((clientX - left) / width) * canvas.width)
  const y = Math.floor(((clientY - top) / height) * canvas.height)
  return x >= 0 && y >= 0 && x < canvas.width && y < canvas.height ? { x, y } : null
}

new ResizeObserver(place).observe(screen)
`
