/** What went wrong while a text was sent, as a sentence. */

import { GroveError, Invalid } from '../../../spec/client/client.ts'
import { brokenField } from '../text/broken-rules.ts'

export function sentenceOf(error: unknown, root: string): string | Node {
  if (!(error instanceof GroveError)) return `${error instanceof Error ? error.message : error}. Nothing is saved yet.`
  const { status, code, message } = error
  if (status === 401) return signIn(root)
  if (status === 0)
    return 'There is no answer: the network or the service is away. The text stays here; save again later.'
  if (status === 413) return `${message}. The text stays here.`
  if (status === 429 || status === 503) return `Not just now: ${message}. The text stays here; save again in a moment.`
  if (code === 'pull_request_required') return 'Changes are proposed here: use Propose. The text stays here.'
  if (error instanceof Invalid) {
    const { field, says } = brokenField(error.fields)
    return `${field === 'title' ? 'Title: ' : ''}${says} The text stays here.`
  }
  return `${message}. The text stays here.`
}

function signIn(root: string): Node {
  const said = document.createDocumentFragment()
  const link = document.createElement('a')
  Object.assign(link, { href: `${root}/sign-in`, target: '_blank', textContent: 'Sign in in another tab' })
  said.append('Your session has ended. ', link, ', then save again: the text stays here.')
  return said
}
