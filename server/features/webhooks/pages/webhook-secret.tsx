/** A secret that is shown once. */

export function NewSecret({ name, secret }: { readonly name: string; readonly secret: string }) {
  return (
    <section class="made" aria-label="New secret">
      <h2>{name}</h2>
      <p>Copy the secret now. It is shown only once. The receiver needs it to verify what it gets.</p>
      <p class="copy" data-token>
        {secret}
      </p>
    </section>
  )
}
