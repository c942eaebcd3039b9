/** What every page does in a browser that runs scripts: keys, the colours, and the search once it is touched. */

import { listenForKeys } from './keys.ts'

listenForKeys()

const writing = document.querySelector<HTMLFormElement>('form[data-editor]')
if (writing) void import('./editor.ts').then(({ openEditor }) => openEditor(writing))

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-search]')) {
  form.addEventListener('focusin', () => import('./search.ts').then(({ suggestIn }) => suggestIn(form)), { once: true })
}

const map = document.querySelector<HTMLElement>('[data-map]')
if (map) void import('./map.ts').then(({ showMap }) => showMap(map))
