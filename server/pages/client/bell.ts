/** Updates the number of unread items while somebody looks at the page. */

import type { Schemas } from '../../../spec/client/api.ts'
import { inboxLabel, numbered, unreadNumber } from '../text/unread-number.ts'

type Answer = Schemas['UnreadItems']

/** Milliseconds between two questions. A page that nobody sees asks nothing. */
const everyMs = 8_000
/** Milliseconds after the last sign of the reader in which the page asks. */
const watchedMs = 10 * 60_000
/** Milliseconds that a question may take. */
const longestMs = 5_000

export function keepNumber(bell: HTMLElement): void {
  let seenAt = Date.now()
  let isAsking = false
  const ask = async () => {
    if (isAsking || document.hidden || Date.now() - seenAt > watchedMs) return
    isAsking = true
    const asked = await read().catch(() => 'later' as const)
    isAsking = false
    if (asked === 'never') clearInterval(timer)
    else if (asked !== 'later') show(bell, asked)
  }
  const timer = setInterval(ask, everyMs)
  const seen = () => {
    const wasAway = Date.now() - seenAt > watchedMs
    seenAt = Date.now()
    if (wasAway) void ask()
  }
  for (const type of ['pointermove', 'keydown', 'scroll']) document.addEventListener(type, seen, { passive: true })
  const shown = () => {
    seenAt = Date.now()
    void ask()
  }
  document.addEventListener('visibilitychange', shown)
  window.addEventListener('pageshow', ({ persisted }) => persisted && shown())
}

/** `never`: the user is no longer signed in. `later`: the service cannot answer now. */
async function read(): Promise<string | 'never' | 'later'> {
  const { root = '' } = document.body.dataset
  const answer = await fetch(`${root}/inbox-unread`, { signal: AbortSignal.timeout(longestMs) })
  if (answer.status === 401) return 'never'
  return answer.ok ? unreadNumber((await answer.json()) as Answer) : 'later' // the type of the spec
}

function show(bell: HTMLElement, number: string): void {
  const earlier = bell.textContent.trim()
  for (const one of document.querySelectorAll<HTMLElement>('[data-unread]')) {
    one.textContent = number
    one.hidden = number === ''
  }
  bell.setAttribute('aria-label', inboxLabel(number))
  document.title = numbered(document.title, number, earlier)
}
