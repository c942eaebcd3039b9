/** Keyboard shortcuts that do not follow a link. Loaded when the user presses one, or its button. */

/** Descriptions by key. `data-key` marks the link of a key, and `data-key-name` replaces its description. */
const names: Readonly<Record<string, string>> = {
  '/': 'Search',
  'Ctrl+K': 'Go to a page or an action',
  j: 'Next item',
  k: 'Previous item',
  '↑ ↓ ← →': 'Move in the tree, when the focus is there',
  e: 'Edit',
  n: 'New page',
  h: 'History',
  g: 'Graph',
  d: 'Switch between light and dark',
  '?': 'Show this list',
}
export const shortcuts: Readonly<Record<string, () => void>> = {
  d: switchTheme,
  j: () => step(1, 'j'),
  k: () => step(-1, 'k'),
  '?': listKeys,
}
const always: ReadonlySet<string> = new Set(['d', '?'])
/** Lists for `j` and `k`: the first one that the page has is used. */
const lists = ['.results a.t', '.tree a.t', '.set-item > summary', 'main li > a']

/** Follows the link of the key. Without one, moves the focus from the focused item, else from the current page in the tree. */
function step(by: 1 | -1, key: string): void {
  const link = linkOf(key)
  if (link) {
    link.click()
    return
  }
  const items = listed()
  const { activeElement } = document
  const focused = activeElement instanceof HTMLElement ? items.indexOf(activeElement) : -1
  const current = focused < 0 ? items.findIndex((item) => item.ariaCurrent === 'page') : focused
  const next = current < 0 && by < 0 ? items.length - 1 : current + by
  items[Math.max(0, Math.min(next, items.length - 1))]?.focus()
}

function listed(): HTMLElement[] {
  const found = lists.map((list) => [...document.querySelectorAll<HTMLElement>(list)].filter(isShown))
  return found.find(({ length }) => length > 0) ?? []
}

function isShown({ offsetParent }: HTMLElement): boolean {
  return offsetParent !== null
}

/** Shows the shortcuts that work on this page. `data-keys` adds those of the page's script. */
function listKeys(): void {
  const dialog = document.createElement('dialog')
  dialog.className = 'keys'
  dialog.setAttribute('aria-label', 'Keyboard shortcuts')
  const title = document.createElement('h2')
  title.textContent = 'Keyboard shortcuts'
  const rows = document.createElement('dl')
  const own = document.querySelector<HTMLElement>('main[data-keys]')?.dataset.keys ?? '{}'
  for (const [key, name] of Object.entries<string>({ ...JSON.parse(own), ...names })) {
    if (key in names && !isThere(key)) continue
    const term = document.createElement('dt')
    const cap = document.createElement('kbd')
    cap.className = 'k'
    cap.textContent = key
    term.append(cap)
    const said = document.createElement('dd')
    said.textContent = linkOf(key)?.dataset.keyName ?? name
    rows.append(term, said)
  }
  const close = document.createElement('button')
  Object.assign(close, { className: 'btn', type: 'button', textContent: 'Close' })
  close.addEventListener('click', () => dialog.close())
  dialog.append(title, rows, close)
  // The browser restores the focus.
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

function isThere(key: string): boolean {
  if (always.has(key)) return true
  if (key === 'Ctrl+K') return 'quick' in document.body.dataset
  if (key === '/') return [...document.querySelectorAll<HTMLElement>('[data-search] input')].some(isShown)
  if (key === '↑ ↓ ← →') return document.querySelector('[data-tree]') !== null
  return linkOf(key) !== null || (/^[jk]$/.test(key) && listed().length > 0)
}

function linkOf(key: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-key="${key}"]`)
}

function switchTheme(): void {
  const root = document.documentElement
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  root.dataset.theme = isDark ? 'light' : 'dark'
  try {
    localStorage.theme = root.dataset.theme
  } catch {
    // Without storage, the theme applies only to this page.
  }
}
