/** Copies the token of a mailed link into the form, and says who invites. It is in the URL's fragment. */

import type { Schemas } from '../../../spec/client/api.ts'

/** Milliseconds after which the page does without the words of the invitation. */
const longestMs = 10_000

export function takeInvitation(form: HTMLFormElement): void {
  const take = () => {
    const [token] = location.hash.match(/grv_(?:invite|reset|verify|undo)_[\w-]+/) ?? []
    const typed = form.querySelector<HTMLInputElement>('[data-by-hand] input')
    const byHand = form.querySelector<HTMLElement>('[data-by-hand]')
    if (token === undefined || typed === null || byHand === null) return
    typed.value = token
    byHand.hidden = true
    if (token.startsWith('grv_invite_')) void say(token, form)
    // A later user of the browser must not find a token in its history that changes an account.
    else history.replaceState(history.state, '', location.pathname + location.search)
  }
  take()
  // Opening another link in the same tab changes only the fragment.
  addEventListener('hashchange', take)
}

/** Says who invites, to what, and hides the form if the invitation has ended. A page that cannot learn it says less. */
async function say(token: string, form: HTMLFormElement): Promise<void> {
  const place = document.querySelector('[data-invites]')
  const { root = '' } = document.body.dataset
  const headers = { 'content-type': 'application/json' }
  const signal = AbortSignal.timeout(longestMs)
  const asked = { method: 'POST', headers, signal, body: JSON.stringify({ token }) }
  const answer = await fetch(`${root}/auth/invitations/read`, asked).catch(() => undefined)
  if (place === null || answer === undefined) return
  form.hidden = answer.status === 404
  if (form.hidden) place.textContent = 'This invitation has ended. Ask for a new one.'
  if (!answer.ok) return
  const { org, role, invited_by } = (await answer.json()) as Schemas['OpenInvitation'] // the type of the spec
  if (org === undefined || role === undefined) return
  const article = /^[aeo]/.test(role) ? 'an' : 'a'
  place.textContent = `${invited_by ?? 'The operator of this service'} invites you to ${org} as ${article} ${role}.`
}
