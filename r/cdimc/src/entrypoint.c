// Forwards R's entry point to Rust, which the linker would leave out otherwise.
void R_init_cdimc_extendr(void *dll);

void R_init_cdimc(void *dll) { R_init_cdimc_extendr(dll); }
