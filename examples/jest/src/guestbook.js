/** A guestbook whose entries are transactions on Arweave. */
class Guestbook {
  constructor(arweave) {
    this.arweave = arweave;
  }

  /** Answers the id of the entry. */
  async sign(text, key) {
    const transaction = await this.arweave.createTransaction({ data: text }, key);
    transaction.addTag('Content-Type', 'text/plain');
    transaction.addTag('App-Name', 'Guestbook');
    await this.arweave.transactions.sign(transaction, key);
    const { status, statusText } = await this.arweave.transactions.post(transaction);
    if (status !== 200) throw new Error(`not taken: ${status} ${statusText}`);
    return transaction.id;
  }

  async isFinal(id) {
    const { confirmed } = await this.arweave.transactions.getStatus(id);
    return confirmed !== null;
  }

  read(id) {
    return this.arweave.transactions.getData(id, { decode: true, string: true });
  }
}

module.exports = { Guestbook };
