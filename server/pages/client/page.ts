/** The script of every page. It loads the other scripts when the page or the user needs them. */

import { listenForShortcuts } from './keys.ts'

listenForShortcuts()

/** Opens the first element that matches, if the page has one. */
function open<E extends Element>(selector: string, work: (found: E) => unknown): void {
  const found = document.querySelector<E>(selector)
  if (found) work(found)
}

open<HTMLFormElement>('form[data-editor]', (form) => import('./editor.ts').then((m) => m.openEditor(form)))
open<HTMLFormElement>('form[data-invited]', (form) => import('./invitation.ts').then((m) => m.takeInvitation(form)))
open<HTMLButtonElement>('button[data-copy]', (button) => import('./copy.ts').then((m) => m.copyBy(button)))
open<HTMLElement>('[data-discussion]', (talk) => import('./review.ts').then((m) => m.openTalk(talk)))
open<HTMLElement>('[data-bell]', (bell) => import('./bell.ts').then((m) => m.keepNumber(bell)))

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-search]')) {
  form.addEventListener(
    'focusin',
    () => import('./search.ts').then(({ completeSearch: suggestIn }) => suggestIn(form)),
    { once: true },
  )
}

for (const type of ['pointerover', 'focusin'])
  document.addEventListener(type, (event) => {
    // Only elements get these events.
    const link = (event.target as Element).closest<HTMLAnchorElement>('[data-cards] a[href*="/o/"]:not(.btn)')
    if (link) void import('./cards.ts').then(({ cardOf }) => cardOf(link, event))
  })
