/** The errors of accounts, and tokens in parts. */

export const wrongCredentials = {
  status: 401,
  body: { detail: 'Wrong e-mail address or password', code: 'invalid_credentials' },
}

export function claims(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}
