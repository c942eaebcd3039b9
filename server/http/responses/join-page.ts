/**
 * The page behind the link of an invitation, which explains it to users and programs. The token is in the fragment of
 * the URL, so only the browser has it.
 */

import { purpose } from '../../base/purpose.ts'

/** The policy of the page: it loads and runs nothing. */
export const joinPolicy = "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

/** Returns the page. @param base the service's URL, without a trailing slash */
export function joinPage(base: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Invitation to Grove</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<h1>Invitation to Grove</h1>
<p>Grove is the ${purpose.is}. Someone who uses it invites you, probably to an organisation: a group of people who write together.</p>
<p>The invitation is in the URL of this page: everything after <code>#token=</code>, beginning with <code>grv_invite_</code>. Anyone who has it can use it until it expires or is used up. Keep it secret.</p>
<h2>If you have no account</h2>
<p><a href="${escaped(base)}/sign-up">Sign up</a> with the invitation in the field of that name. Or without a browser:</p>
<pre>curl -X POST ${escaped(base)}/auth/signup -H 'Content-Type: application/json' \\
  -d '{"email": "you@example.org", "password": "a long password", "name": "Your Name", "invitation": "grv_invite_…"}'</pre>
<p>In the response, <code>user.orgs</code> names the organisation that you have joined.</p>
<h2>If you have an account</h2>
<p>Paste the invitation on <a href="${escaped(base)}/join">this page</a>. Or send it with your access token:</p>
<pre>curl -X POST ${escaped(base)}/auth/invitations/accept -H 'Content-Type: application/json' \\
  -H 'Authorization: Bearer ACCESS_TOKEN' -d '{"token": "grv_invite_…"}'</pre>
<p>The response names the organisation and your role in it.</p>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
