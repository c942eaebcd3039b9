/** Keys that act on the whole page, none of them inside a field. Each is a link or a button as well. */

/** `data-key` names the key that follows a link. */
export function listenForKeys(): void {
  document.addEventListener('keydown', (event) => {
    const { key } = event
    const isCommand = event.ctrlKey || event.metaKey || event.altKey
    if (isCommand || event.defaultPrevented || isField(event) || document.querySelector('dialog[open]')) return
    if (key === 'd') switchTheme()
    else if (key === '/') focusSearch(event)
    else if (key === '?') showKeys()
    else if (key === 'j' || key === 'k') void import('./key-lists.ts').then(({ step }) => step(key === 'j' ? 1 : -1))
    else if (/^[a-z]$/.test(key)) document.querySelector<HTMLElement>(`[data-key="${key}"]`)?.click()
  })
  for (const button of document.querySelectorAll('[data-theme-toggle]')) button.addEventListener('click', switchTheme)
  for (const button of document.querySelectorAll('[data-show-keys]')) button.addEventListener('click', showKeys)
}

/** Also of a field in a shadow root, whose host alone is the event's target here. */
function isField(event: Event): boolean {
  const [target] = event.composedPath()
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

function showKeys(): void {
  void import('./key-lists.ts').then(({ listKeys }) => listKeys())
}

function focusSearch(event: KeyboardEvent): void {
  const fields = [...document.querySelectorAll<HTMLInputElement>('[data-search] input')]
  const shown = fields.find(({ offsetParent }) => offsetParent !== null)
  if (!shown) return
  event.preventDefault()
  shown.focus()
  shown.select()
}

function switchTheme(): void {
  const root = document.documentElement
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  root.dataset.theme = isDark ? 'light' : 'dark'
  try {
    localStorage.theme = root.dataset.theme
  } catch {
    // It holds for this page alone.
  }
}
