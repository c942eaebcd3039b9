/** The script of every page. It loads the other scripts when the page or the user needs them. */

import { listenForShortcuts } from './keys.ts'

listenForShortcuts()

const writing = document.querySelector<HTMLFormElement>('form[data-editor]')
if (writing) void import('./editor.ts').then(({ openEditor }) => openEditor(writing))

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-search]')) {
  form.addEventListener(
    'focusin',
    () => import('./search.ts').then(({ completeSearch: suggestIn }) => suggestIn(form)),
    { once: true },
  )
}

const invited = document.querySelector<HTMLFormElement>('form[data-invited]')
if (invited) void import('./invitation.ts').then(({ takeInvitation }) => takeInvitation(invited))

const copied = document.querySelector<HTMLButtonElement>('button[data-copy]')
if (copied) void import('./copy.ts').then(({ copyBy }) => copyBy(copied))

const discussion = document.querySelector<HTMLElement>('[data-discussion]')
if (discussion) void import('./review.ts').then(({ openTalk }) => openTalk(discussion))

const map = document.querySelector<HTMLElement>('[data-map]')
if (map) void import('./map.ts').then(({ showMap }) => showMap(map))

for (const type of ['pointerover', 'focusin'])
  document.addEventListener(type, (event) => {
    // Only elements get these events.
    const link = (event.target as Element).closest<HTMLAnchorElement>('[data-cards] a[href*="/n/"]:not(.btn)')
    if (link) void import('./cards.ts').then(({ cardOf }) => cardOf(link, event))
  })
